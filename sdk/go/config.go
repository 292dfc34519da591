package kubewasp

// In a file of its own, as encoding/json makes a guest larger: one that does not decode its configuration has none of it.

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// DecodeConfig reads the plugin's configuration as JSON into a struct, whose fields keep their values where the
// configuration says nothing: set defaults before, but those of a map after, for entries are added to what is there. An
// unknown field is an error. No configuration at all is fine.
func (h *Handle) DecodeConfig(into any) error {
	text := h.Config()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return configError(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return configError(errors.New("more than one value"))
	}
	return nil
}

func configError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF:
		err = errors.New("the JSON is cut off")
	case errors.As(err, &wrong):
		err = errors.New(strings.TrimPrefix(wrong.Field+": expected "+wanted(wrong.Type)+", got "+given(wrong.Value), ": "))
	}
	return errors.New("config: " + strings.TrimPrefix(err.Error(), "json: "))
}

// wanted is what JSON must have for a type.
func wanted(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "an integer"
}

// given is what there is in JSON: a kind of value, or "number 1.5" where the number itself is the problem.
func given(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "string":
		return "a text"
	case "number":
		return "a number"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return strings.TrimPrefix(value, "number ")
}
