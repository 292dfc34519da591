// Web handler as a WASI command: request in the meta-variables of RFC 3875 and on stdin, response on stdout.
//
//	GOOS=wasip1 GOARCH=wasm go build -o ../hello-go.wasm .
package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
)

func main() {
	query, err := url.ParseQuery(os.Getenv("QUERY_STRING"))
	if err != nil {
		fmt.Print("Status: 400 Bad Request\nContent-Type: text/plain\n\nthe query cannot be read\n")
		return
	}
	name := query.Get("name")
	if name == "" {
		name = "world"
	}
	fmt.Print("Content-Type: text/plain; charset=utf-8\n\n")
	fmt.Printf("%s, %s\n", greeting(), name)
	if os.Getenv("REQUEST_METHOD") == "POST" {
		size, err := io.Copy(io.Discard, os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, "reading the body:", err) // to the server's log
			os.Exit(1)                                        // status 500
		}
		fmt.Printf("thank you for %d bytes\n", size)
	}
}

func greeting() string {
	if text := os.Getenv("GREETING"); text != "" { // from `env` in the configuration
		return text
	}
	return "hello"
}
