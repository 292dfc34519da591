module example/handlers

go 1.24
