package main

func (r *result) plot() string { return "" }
