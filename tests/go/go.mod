module example.com/me/library

go 1.25
