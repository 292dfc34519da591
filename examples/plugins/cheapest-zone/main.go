// Command cheapest-zone is a scheduler plugin that prefers cheap nodes. Prices come from its configuration, by zone, instance
// type or any label, or from a label of the node itself. A pod may have a preferred zone and a maximum price.
package main

import (
	"errors"
	"math"
	"strconv"

	kubewasp "kubewasp.dev/sdk"
)

// Annotations of pods.
const (
	maxPriceAnnotation = "kubewasp.dev/max-price"
	zoneAnnotation     = "kubewasp.dev/preferred-zone"
)

const (
	zoneLabel         = "topology.kubernetes.io/zone"
	instanceTypeLabel = "node.kubernetes.io/instance-type"
)

// Config is the plugin's configuration: guestConfig, as JSON. Prices are per hour, in any currency.
type Config struct {
	Prices     []Rule  `json:"prices"`     // the first matching rule counts; without one, a node has the highest price
	PriceLabel string  `json:"priceLabel"` // node label with a price, which takes precedence
	Spot       Spot    `json:"spot"`       // discount of spot nodes
	CrossZone  float64 `json:"crossZone"`  // surcharge outside the pod's preferred zone
}

// Rule is the price of the matching nodes. An empty field matches every node.
type Rule struct {
	Zone         string            `json:"zone"`
	InstanceType string            `json:"instanceType"`
	Labels       map[string]string `json:"labels"`
	Price        *float64          `json:"price"`
}

// Spot is the label of spot nodes and their discount, as a share of the price.
type Spot struct {
	Label    string  `json:"label"`
	Value    string  `json:"value"`
	Discount float64 `json:"discount"`
}

// price is in millionths: integers compare and add up exactly, and fit into a score.
type price = int64

const maxPrice = 1000

// offer is the price and the zone of a node.
type offer struct {
	price price
	zone  string
}

// wish is the content of the pod's annotations.
type wish struct {
	maxPrice price // 0: any
	zone     string
	tooDear  string // reason to reject a node, the same for all
}

var wishes = kubewasp.NewStateKey[wish]()

// Plugin prefers cheap nodes.
type Plugin struct {
	config    Config
	log       *kubewasp.Logger
	dearest   price
	crossZone price
	offers    *kubewasp.NodeCache[offer]
}

var (
	_ kubewasp.EnqueueExtensions = (*Plugin)(nil)
	_ kubewasp.Signature         = (*Plugin)(nil)
	_ kubewasp.PreFilter         = (*Plugin)(nil)
	_ kubewasp.Filter            = (*Plugin)(nil)
	_ kubewasp.Score             = (*Plugin)(nil)
	_ kubewasp.NormalizeScore    = (*Plugin)(nil)
)

// New creates the plugin when it is loaded.
func New(handle *kubewasp.Handle) (*Plugin, error) {
	config := Config{Spot: Spot{Label: "karpenter.sh/capacity-type", Value: "spot"}}
	if err := handle.DecodeConfig(&config); err != nil {
		return nil, err
	}
	plugin := &Plugin{config: config, log: &handle.Log}
	if err := plugin.check(); err != nil {
		return nil, errors.New("config: " + err.Error())
	}
	// An offer depends on the Node object alone, so it is cached until the object changes.
	plugin.offers = kubewasp.NewNodeCache(plugin.offerOf)
	return plugin, nil
}

func (p *Plugin) check() error {
	if len(p.config.Prices) == 0 && p.config.PriceLabel == "" {
		return errors.New("there are no prices: give prices, priceLabel or both")
	}
	for number, rule := range p.config.Prices {
		at := "prices[" + strconv.Itoa(number) + "].price"
		if rule.Price == nil {
			return errors.New(at + " is missing")
		}
		cost, ok := inMillionths(*rule.Price)
		if !ok {
			return errors.New(at + " must be from 0 to 1000")
		}
		p.dearest = max(p.dearest, cost)
	}
	var ok bool
	if p.crossZone, ok = inMillionths(p.config.CrossZone); !ok {
		return errors.New("crossZone must be from 0 to 1000")
	}
	if discount := p.config.Spot.Discount; discount < 0 || discount > 1 {
		return errors.New("spot.discount must be from 0 to 1")
	}
	return nil
}

// EventsToRegister lists the events that may help a rejected pod: a new node, or other labels.
func (p *Plugin) EventsToRegister() []kubewasp.ClusterEvent {
	return []kubewasp.ClusterEvent{{Resource: kubewasp.EventNode, Actions: kubewasp.Add | kubewasp.UpdateNodeLabel}}
}

// SignPod is the same for pods with the same annotations. They share the results for a node until the node changes.
func (p *Plugin) SignPod(pod *kubewasp.Pod) uint64 {
	annotations := pod.Annotations()
	return kubewasp.NewHasher().String(annotations.Get(maxPriceAnnotation)).String(annotations.Get(zoneAnnotation)).Sum()
}

// PreFilter reads the pod's annotations. Pods without a maximum price need no Filter.
func (p *Plugin) PreFilter(state *kubewasp.CycleState, pod *kubewasp.Pod) ([]string, kubewasp.Status) {
	wished := wish{zone: pod.Annotations().Get(zoneAnnotation)}
	text, limited := pod.Annotations().Lookup(maxPriceAnnotation)
	if limited {
		var ok bool
		if wished.maxPrice, ok = parsePrice(text); !ok || wished.maxPrice == 0 {
			return nil, kubewasp.Unresolvable("annotation " + maxPriceAnnotation + " must be a price above 0, not \"" + text + "\"")
		}
		wished.tooDear = "node(s) cost more than " + text
	}
	wishes.Set(state, wished)
	if !limited {
		return nil, kubewasp.Skip()
	}
	return nil, kubewasp.Success()
}

// Filter rejects nodes above the pod's maximum price.
func (p *Plugin) Filter(state *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) kubewasp.Status {
	if wished := wishes.Get(state); p.offers.Get(node).price > wished.maxPrice {
		return kubewasp.Unresolvable(wished.tooDear)
	}
	return kubewasp.Success()
}

// Score is the price; NormalizeScore makes the lowest the best.
func (p *Plugin) Score(state *kubewasp.CycleState, _ *kubewasp.Pod, node *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	offered, wished := p.offers.Get(node), wishes.Get(state)
	if wished.zone != "" && wished.zone != offered.zone {
		return offered.price + p.crossZone, kubewasp.Success()
	}
	return offered.price, kubewasp.Success()
}

// NormalizeScore gives the cheapest node 100 and the dearest 0. Where all cost the same, all have 100.
func (p *Plugin) NormalizeScore(_ *kubewasp.CycleState, _ *kubewasp.Pod, scores *kubewasp.NodeScores) kubewasp.Status {
	scores.Stretch(true)
	return kubewasp.Success()
}

func (p *Plugin) offerOf(node *kubewasp.NodeInfo) offer {
	labels := node.Labels()
	return offer{p.priceOf(node.Name(), labels), labels.Get(zoneLabel)}
}

func (p *Plugin) priceOf(node string, labels kubewasp.Map[string]) price {
	if text, found := labels.Lookup(p.config.PriceLabel); found && p.config.PriceLabel != "" {
		if own, ok := parsePrice(text); ok {
			return own
		}
		p.log.Warning("Invalid price label", "node", node, "label", p.config.PriceLabel, "value", text)
	}
	cost := p.dearest
	for _, rule := range p.config.Prices {
		if rule.matches(labels) {
			cost, _ = inMillionths(*rule.Price)
			break
		}
	}
	if spot := p.config.Spot; labels.Get(spot.Label) == spot.Value {
		cost -= int64(math.Round(float64(cost) * spot.Discount))
	}
	return cost
}

func (r *Rule) matches(labels kubewasp.Map[string]) bool {
	if r.Zone != "" && labels.Get(zoneLabel) != r.Zone {
		return false
	}
	if r.InstanceType != "" && labels.Get(instanceTypeLabel) != r.InstanceType {
		return false
	}
	for name, value := range r.Labels {
		if labels.Get(name) != value {
			return false
		}
	}
	return true
}

func parsePrice(text string) (price, bool) {
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	return inMillionths(amount)
}

func inMillionths(amount float64) (price, bool) {
	if !(amount >= 0 && amount <= maxPrice) { // also true for NaN
		return 0, false
	}
	return price(math.Round(amount * 1e6)), true
}

func init() { kubewasp.Register(New) }

func main() {}
