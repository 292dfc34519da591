"""Stands for a package in pure Python that lies in a project's folder."""
