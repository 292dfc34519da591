package kubewasp

// In a file of its own: the parser is linked only into guests that ask for image states.

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ImageState is an image on a node, and the number of all nodes that have it.
type ImageState struct {
	Size     int64
	NumNodes int
}

// ImageStates returns the images on the node by name, each with the number of nodes that have it. The numbers depend on
// all nodes: read them anew for each pod. Node.Images has names and sizes alone, and is faster.
func (i *NodeInfo) ImageStates() map[string]ImageState {
	if i.guest == nil {
		return nil
	}
	name := i.Name()
	return imageStates(string(i.guest.read(func(buf []byte) int { return i.guest.host.NodeImageStates(name, buf) })))
}

// imageStates reads a JSON object of the form {"name": {"Size": 1, "NumNodes": 2}}. Invalid text ends it. Package
// encoding/json would make a guest larger by a megabyte.
func imageStates(text string) map[string]ImageState {
	states := map[string]ImageState{}
	scan := jsonScanner{text: text}
	if !scan.take('{') {
		return states
	}
	for {
		name, ok := scan.quoted()
		if !ok || !scan.take(':') || !scan.take('{') {
			return states
		}
		var state ImageState
		for !scan.take('}') {
			field, ok := scan.quoted()
			if !ok || !scan.take(':') {
				return states
			}
			number, ok := scan.number()
			if !ok {
				return states
			}
			switch field {
			case "Size":
				state.Size = number
			case "NumNodes":
				state.NumNodes = int(number)
			}
			scan.take(',')
		}
		states[name] = state
		if !scan.take(',') {
			return states
		}
	}
}

// jsonScanner reads the tokens of a JSON text.
type jsonScanner struct {
	text string
	at   int
}

// take skips white space and the given byte; false if another one follows.
func (s *jsonScanner) take(wanted byte) bool {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
	if s.at >= len(s.text) || s.text[s.at] != wanted {
		return false
	}
	s.at++
	return true
}

func (s *jsonScanner) number() (int64, bool) {
	s.take(' ')
	start := s.at
	for s.at < len(s.text) && (s.text[s.at] == '-' || s.text[s.at] >= '0' && s.text[s.at] <= '9') {
		s.at++
	}
	number, err := strconv.ParseInt(s.text[start:s.at], 10, 64)
	return number, err == nil
}

func (s *jsonScanner) quoted() (string, bool) {
	if !s.take('"') {
		return "", false
	}
	start := s.at
	for s.at < len(s.text) && s.text[s.at] != '"' && s.text[s.at] != '\\' {
		s.at++
	}
	if s.at < len(s.text) && s.text[s.at] == '"' { // without escapes, as nearly always
		s.at++
		return s.text[start : s.at-1], true
	}
	found := []byte(s.text[start:s.at])
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return string(found), true
		case c != '\\':
			found = append(found, c)
		default:
			r, ok := s.escaped()
			if !ok {
				return "", false
			}
			found = utf8.AppendRune(found, r)
		}
	}
	return "", false
}

// escaped reads the rest of an escape sequence.
func (s *jsonScanner) escaped() (rune, bool) {
	if s.at >= len(s.text) {
		return 0, false
	}
	c := s.text[s.at]
	s.at++
	switch c {
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		first, ok := s.unit()
		if ok && utf16.IsSurrogate(first) && s.at+1 < len(s.text) && s.text[s.at] == '\\' && s.text[s.at+1] == 'u' {
			s.at += 2
			second, ok := s.unit()
			return utf16.DecodeRune(first, second), ok
		}
		return first, ok
	}
	return rune(c), true
}

func (s *jsonScanner) unit() (rune, bool) {
	if s.at+4 > len(s.text) {
		return 0, false
	}
	number, err := strconv.ParseUint(s.text[s.at:s.at+4], 16, 32)
	s.at += 4
	return rune(number), err == nil
}
