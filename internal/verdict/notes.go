package verdict

import "fmt"

// MinUniqueSize is the size in bytes from which a value carries who wrote it.
const MinUniqueSize = 16

// MinAchieved is the share of an open loop's rate below which a note says
// that the store fell behind.
const MinAchieved = 0.99

func notes(f *Figures) []string {
	var list []string
	if f.Writes && f.ValueSize < MinUniqueSize {
		list = append(list, fmt.Sprintf("Values of %d bytes are not unique; from %d bytes up they are.", f.ValueSize, MinUniqueSize))
	}
	if f.Writes && !f.DurabilityKnown {
		list = append(list, "Durability is not known: the members' data folders were not looked at.")
	}
	if f.Writes && f.DurabilityKnown && !f.durable() && f.VolatileMeant {
		list = append(list, fmt.Sprintf("Durability is not exercised, as the scenario means: %s.", volatility(f)))
	}
	if f.OpenLoop && f.Seconds > 0 && f.Rate > 0 {
		if done := float64(f.Done) / f.Seconds; done < MinAchieved*f.Rate {
			list = append(list, fmt.Sprintf("The store fell behind: %.0f/s were due and %.0f/s completed.", f.Rate, done))
		}
	}
	if n := f.Events.Resubscribed; n > 0 {
		list = append(list, fmt.Sprintf("Watchers were created again %d times, where they were when their connection was lost.", n))
	}
	return list
}
