// Command gopher does one thing with what it was granted: `gopher OP [VALUE]`.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func run(op, value string) error {
	switch op {
	case "hello":
		fmt.Println("hello from Go")
	case "read":
		content, err := os.ReadFile(value)
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(content)
		return err
	case "write":
		return os.WriteFile(value, []byte("written"), 0o644)
	case "list":
		entries, err := os.ReadDir(value)
		for _, entry := range entries {
			fmt.Println(entry.Name())
		}
		return err
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "args":
		fmt.Println(strings.Join(os.Args[2:], "\n"))
	case "stdin":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "sleep":
		milliseconds, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	case "panic":
		panic(value)
	default:
		return fmt.Errorf("unknown: %s", op)
	}
	return nil
}

func main() {
	op, value := "hello", ""
	if len(os.Args) > 1 {
		op = os.Args[1]
	}
	if len(os.Args) > 2 {
		value = os.Args[2]
	}
	if err := run(op, value); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
