module gopher

go 1.24
