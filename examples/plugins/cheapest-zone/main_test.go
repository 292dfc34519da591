package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"kubewasp.dev/sdk/kubewasptest"
)

const prices = `{
	"prices": [
		{"zone": "b", "instanceType": "large", "price": 0.4},
		{"instanceType": "large", "price": 0.5},
		{"labels": {"pool": "old"}, "price": 0.1},
		{"zone": "b", "price": 0.2}
	],
	"priceLabel": "example.com/price",
	"spot": {"discount": 0.6},
	"crossZone": 0.05
}`

func node(name string, labels ...string) kubewasptest.Node {
	made := kubewasptest.Node{Name: name, Labels: map[string]string{}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		made.Labels[key] = value
	}
	return made
}

const zoneA, zoneB = zoneLabel + "=a", zoneLabel + "=b"

func TestTheFirstRuleThatMatchesHasThePrice(t *testing.T) {
	const large, spot = instanceTypeLabel + "=large", "karpenter.sh/capacity-type=spot"
	tests := []struct {
		node kubewasptest.Node
		want int64
	}{
		{node("large-in-b", zoneB, large), 400_000},
		{node("large-elsewhere", zoneA, large), 500_000},
		{node("old", "pool=old"), 100_000},
		{node("old-in-b", "pool=old", zoneB), 100_000},
		{node("other-in-b", zoneB), 200_000},
		{node("no-rule-as-the-dearest", zoneA), 500_000},
		{node("spot", zoneB, spot), 80_000},
		{node("on-demand", zoneB, "karpenter.sh/capacity-type=on-demand"), 200_000},
		{node("own-price", zoneB, large, spot, "example.com/price=0.0312"), 31_200},
		{node("bad-price", zoneB, "example.com/price=cheap"), 200_000},
	}
	for _, test := range tests {
		plugin := kubewasptest.Load(t, kubewasptest.NewCluster(test.node), New, prices)
		if got := plugin.Cycle(kubewasptest.Pod{Name: "web"}).Score(test.node.Name); got != test.want {
			t.Errorf("%s costs %d, want %d", test.node.Name, got, test.want)
		}
		if logged := len(plugin.Logs()) > 0; logged != (test.node.Name == "bad-price") {
			t.Errorf("%s: logged was %v", test.node.Name, plugin.Logs())
		}
	}
}

// zones are three nodes for 0.10, 0.12 and 0.30.
func zones() *kubewasptest.Cluster {
	return kubewasptest.NewCluster(
		node("a-1", zoneA, "example.com/price=0.10"),
		node("b-1", zoneB, "example.com/price=0.12"),
		node("b-2", zoneB, "example.com/price=0.30"),
	)
}

func TestTheCheapestIsTheBest(t *testing.T) {
	plugin := kubewasptest.Load(t, zones(), New, prices)

	result := plugin.Schedule(kubewasptest.Pod{Name: "web"})

	if want := map[string]int64{"a-1": 100, "b-1": 90, "b-2": 0}; !maps.Equal(result.Scores, want) {
		t.Errorf("the scores are %v, want %v", result.Scores, want)
	}
}

func TestOutsideOfThePreferredZoneNodesCostMore(t *testing.T) {
	plugin := kubewasptest.Load(t, zones(), New, prices)
	pod := kubewasptest.Pod{Name: "web", Annotations: map[string]string{zoneAnnotation: "b"}}

	result := plugin.Schedule(pod) // 0.15 in a, 0.12 and 0.30 in b

	if want := map[string]int64{"a-1": 84, "b-1": 100, "b-2": 0}; !maps.Equal(result.Scores, want) {
		t.Errorf("the scores are %v, want %v", result.Scores, want)
	}
}

func TestAPodMayPayACertainPriceAtMost(t *testing.T) {
	plugin := kubewasptest.Load(t, zones(), New, prices)
	tests := map[string][]string{
		"0.30": nil,
		"0.12": {"b-2"}, // not b-1: the price is no more than that
		"0.05": {"a-1", "b-1", "b-2"},
	}
	for most, want := range tests {
		result := plugin.Schedule(kubewasptest.Pod{Name: "web", Annotations: map[string]string{maxPriceAnnotation: most}})
		if rejected := slices.Sorted(maps.Keys(result.Rejected)); !slices.Equal(rejected, want) {
			t.Errorf("with %s at most, rejected are %v, want %v", most, rejected, want)
		}
	}
}

func TestAPriceThatIsNoneIsRefused(t *testing.T) {
	plugin := kubewasptest.Load(t, zones(), New, prices)
	for _, text := range []string{"cheap", "", "-1", "0", "NaN", "1001"} {
		_, status := plugin.PreFilter(kubewasptest.Pod{Name: "web", Annotations: map[string]string{maxPriceAnnotation: text}})
		if !status.IsRejected() || !strings.Contains(status.Reason, `"`+text+`"`) {
			t.Errorf("%q: %v", text, status)
		}
	}
}

func TestPodsWithTheSameWishesHaveTheSameSignature(t *testing.T) {
	plugin := kubewasptest.Load(t, zones(), New, prices)
	signature := func(name, zone, most string) uint64 {
		annotations := map[string]string{zoneAnnotation: zone, maxPriceAnnotation: most}
		return plugin.Signature(kubewasptest.Pod{Name: name, Annotations: annotations})
	}

	if signature("web", "a", "0.5") != signature("db", "a", "0.5") {
		t.Error("the name makes a difference")
	}
	if signature("web", "a", "0.5") == signature("web", "b", "0.5") || signature("web", "a", "0.5") == signature("web", "a", "1") {
		t.Error("the annotations make no difference")
	}
}

func TestABadConfigurationIsRefused(t *testing.T) {
	tests := map[string]string{
		``: "there are no prices",
		`{"prices": [{"price": 1}, {"zone": "a"}]}`:               "prices[1].price is missing",
		`{"prices": [{"price": -1}]}`:                             "prices[0].price must be from 0 to 1000",
		`{"priceLabel": "price", "crossZone": -1}`:                "crossZone must be from 0 to 1000",
		`{"priceLabel": "price", "spot": {"discount": 60}}`:       "spot.discount must be from 0 to 1",
		`{"prices": [{"zone": "a", "cost": 1}]}`:                  `unknown field "cost"`,
		`{"prices": [{"zone": "a", "price": "1"}]}`:               "price: expected a number, got a text",
		`{"prices": [{"zone": ["a", "b"], "price": 1}]}`:          "zone: expected a text, got a list",
		`{"prices": [{"labels": {"pool": 1}, "price": 1}]}`:       "expected a text, got a number",
		`{"prices": [{"price": 1}], "priceLabel": "price"`:        "the JSON is cut off",
		`{"prices": [{"price": 1}], "spot": {"discount": "60%"}}`: "spot.discount: expected a number, got a text",
	}
	for config, want := range tests {
		err := kubewasptest.LoadError(t, zones(), New, config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", config, err, want)
		}
	}
}
