package kubewasp

// In a file of its own, as encoding/json makes a guest larger: one that does not decode its configuration has none of it.

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// DecodeConfig reads the plugin's configuration as JSON into a struct, whose fields keep their values where the
// configuration says nothing: set defaults before. An unknown field is an error. No configuration at all is fine.
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
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		err = errors.New("the JSON is cut off")
	}
	return errors.New("config: " + strings.TrimPrefix(err.Error(), "json: "))
}
