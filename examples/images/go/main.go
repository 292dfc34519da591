// Greets, and adds the motto of a file if the program has access to it.
package main

import (
	"fmt"
	"os"
)

func main() {
	name := "world"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	fmt.Printf("Hello, %s\n", name)
	motto, err := os.ReadFile("/data/motto.txt")
	if err != nil {
		fmt.Println("no motto:", err)
		return
	}
	fmt.Printf("motto: %s", motto)
}
