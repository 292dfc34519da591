package kubewasp

import "strings"

// Object is an object with a name, such as a Pod or a Node.
type Object interface{ Name() string }

// Ref is the text of one or more objects in a log line, made when the line is logged.
type Ref struct{ text func() string }

// String returns the text.
func (r Ref) String() string { return r.text() }

// KObj refers to an object in a log line: "namespace/name", or the name of an object without a namespace.
func KObj(object Object) Ref { return Ref{func() string { return referred(object) }} }

// KObjSlice refers to several objects: "[default/a default/b]".
func KObjSlice[O Object](objects []O) Ref {
	return KObjSliceFn(func() []O { return objects })
}

// KObjSliceFn is like KObjSlice, with objects that are collected only if the line is logged.
func KObjSliceFn[O Object](collect func() []O) Ref {
	return Ref{func() string {
		var text strings.Builder
		text.WriteByte('[')
		for i, object := range collect() {
			if i > 0 {
				text.WriteByte(' ')
			}
			text.WriteString(referred(object))
		}
		text.WriteByte(']')
		return text.String()
	}}
}

func referred(object Object) string {
	if spaced, ok := object.(interface{ Namespace() string }); ok {
		if namespace := spaced.Namespace(); namespace != "" {
			return namespace + "/" + object.Name()
		}
	}
	return object.Name()
}
