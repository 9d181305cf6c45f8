package hook

// Events is every event that has a rule.
func Events() []string {
	names := make([]string, 0, len(rules))
	for _, r := range rules {
		names = append(names, r.event)
	}
	return names
}
