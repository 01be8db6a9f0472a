package kubernetes

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Quantity is an amount of a resource in Kubernetes' notation.
type Quantity struct {
	text  string
	value *big.Rat
}

// quantityForm matches a number with an optional suffix. The suffix is a letter for a power of
// 1000, letters for a power of 1024, or a decimal exponent.
var quantityForm = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|([eE][+-]?\d{1,2}))?$`)

// parseQuantity parses a positive amount.
func parseQuantity(text string) (Quantity, bool) {
	parts := quantityForm.FindStringSubmatch(text)
	if parts == nil {
		return Quantity{}, false
	}
	value, ok := new(big.Rat).SetString(parts[1] + parts[3])
	if !ok || value.Sign() == 0 {
		return Quantity{}, false
	}
	if suffix := parts[2]; suffix != "" {
		base, power := int64(1000), int64(strings.Index("num kMGTPE", suffix[:1])-3)
		if strings.HasSuffix(suffix, "i") {
			base, power = 1024, int64(strings.Index("KMGTPE", suffix[:1])+1)
		}
		factor := new(big.Int).Exp(big.NewInt(base), big.NewInt(max(power, -power)), nil)
		if power < 0 {
			value.Quo(value, new(big.Rat).SetInt(factor))
		} else {
			value.Mul(value, new(big.Rat).SetInt(factor))
		}
	}
	return Quantity{text, value}, true
}

// String returns the amount as the user specified it.
func (q Quantity) String() string { return cmp.Or(q.text, "0") }

// MarshalText implements encoding.TextMarshaler.
func (q Quantity) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// CheckStorage returns an error if size is not a valid volume size.
func CheckStorage(size string) error {
	if _, ok := parseQuantity(size); !ok {
		return fmt.Errorf("%q is not a valid size; use Kubernetes' notation, such as 10Gi", size)
	}
	return nil
}

// Share contains the amount of a resource that a pod requests, and the pod's limit for this
// resource.
type Share struct{ Request, Limit Quantity }

// ParseShare parses REQUEST:LIMIT, or one quantity that is both the request and the limit.
func ParseShare(s string) (Share, error) {
	parts := make([]Quantity, 0, 2)
	for _, part := range strings.SplitN(s, ":", 2) {
		q, ok := parseQuantity(part)
		if !ok {
			return Share{}, fmt.Errorf("%q is not a valid quantity; use Kubernetes' notation, such as 500m, 2 or 1Gi, or REQUEST:LIMIT", part)
		}
		parts = append(parts, q)
	}
	share := Share{parts[0], parts[len(parts)-1]}
	if share.Request.value.Cmp(share.Limit.value) > 0 {
		return Share{}, fmt.Errorf("%q requests more than its limit", s)
	}
	return share, nil
}

// String formats the share so that ParseShare can parse it.
func (s Share) String() string {
	if s.Request.value.Cmp(s.Limit.value) == 0 {
		return s.Limit.text
	}
	return s.Request.text + ":" + s.Limit.text
}
