package kubewasp

// OwnerReference identifies the owner of an object, e.g. the ReplicaSet of a pod.
type OwnerReference struct {
	APIVersion string
	Kind       string
	Name       string
	UID        string
	Controller bool
}

// ObjectReference identifies the object of an event.
type ObjectReference struct {
	Kind            string
	APIVersion      string
	Name            string
	Namespace       string
	UID             string
	ResourceVersion string
}

// Field numbers of ObjectMeta.
const (
	metaName            = 1
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaCreation        = 8
	metaDeletion        = 9
	metaLabels          = 11
	metaAnnotations     = 12
	metaOwners          = 13
)

// Field numbers of Pod and Node.
const (
	objectMeta   = 1
	objectSpec   = 2
	objectStatus = 3
)

func ownersOf(meta Message) []OwnerReference {
	var owners []OwnerReference
	for owner := range meta.Subs(metaOwners) {
		owners = append(owners, OwnerReference{
			APIVersion: owner.Text(5),
			Kind:       owner.Text(1),
			Name:       owner.Text(3),
			UID:        owner.Text(4),
			Controller: owner.Bool(6),
		})
	}
	return owners
}

func referenceTo(kind string, meta Message) ObjectReference {
	return ObjectReference{
		Kind:            kind,
		APIVersion:      "v1",
		Name:            meta.Text(metaName),
		Namespace:       meta.Text(metaNamespace),
		UID:             meta.Text(metaUID),
		ResourceVersion: meta.Text(metaResourceVersion),
	}
}
