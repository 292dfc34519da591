// Types of the guest's side of the ABI, for the entry module that `kubewasp plugin build` writes.

import type { Plugin } from "@kubewasp/sdk";

/** Source file and line of each line of a bundle; 0 for lines of others. */
export interface SourceLines {
  readonly files: readonly string[];
  readonly lines: readonly (readonly [number, number] | 0)[];
}

/** The exports of a component. */
export declare function exportsOf(
  plugin: new (config?: any) => Plugin,
  sourceLines?: SourceLines,
): { start(settings: string): string; call(request: string): string };
