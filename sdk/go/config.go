package kubewasp

// In a file of its own: encoding/json makes a guest larger, and is linked only into guests that decode a configuration.

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// DecodeConfig decodes the plugin's configuration, which is JSON, into a struct. Fields that are not in the configuration
// keep their values: set defaults before the call, but those of a map after it, as entries are added to a map. An unknown
// field is an error; an empty configuration is not.
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

// wanted returns the JSON form of a type.
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

// given returns the kind of a JSON value, or "number 1.5" if the number itself is invalid.
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
