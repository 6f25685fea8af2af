package simd

import "math"

// Activation is an elementwise function applied after a linear layer.
type Activation uint8

// The activations of the checkpoints' hidden_act. GELU is the exact form x·Φ(x), GELUTanh its tanh
// approximation (gelu_new, gelu_pytorch_tanh), SiLU is x·sigmoid(x) (swish).
const (
	Identity Activation = iota
	GELU
	GELUTanh
	ReLU
	SiLU
	Tanh
	numActivations
)

var activationNames = [numActivations]string{"identity", "gelu", "gelu_tanh", "relu", "silu", "tanh"}

func (a Activation) String() string {
	if a < numActivations {
		return activationNames[a]
	}
	return "invalid"
}

// Activate replaces each element of x by act(x).
func Activate(x []float32, act Activation) {
	checkActivation(act)
	if len(x) > 0 && act != Identity {
		activateRow(x, act)
	}
}

// activateGo replaces each element of x by act(x). The other back ends are within 1e-6 of the exact
// value, absolute up to 1 and relative above.
func activateGo(x []float32, act Activation) {
	switch act {
	case GELU:
		for i, v := range x {
			x[i] = float32(0.5 * float64(v) * (1 + math.Erf(float64(v)*(math.Sqrt2/2))))
		}
	case GELUTanh:
		for i, v := range x {
			z := float64(v)
			x[i] = float32(0.5 * z * (1 + math.Tanh(0.7978845608028654*(z+0.044715*z*z*z))))
		}
	case ReLU:
		for i, v := range x {
			if v < 0 {
				x[i] = 0
			}
		}
	case SiLU:
		for i, v := range x {
			x[i] = float32(float64(v) / (1 + math.Exp(-float64(v))))
		}
	case Tanh:
		for i, v := range x {
			x[i] = float32(math.Tanh(float64(v)))
		}
	}
}
