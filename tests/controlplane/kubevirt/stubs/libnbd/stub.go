// Package stub stands in for a module that cannot be had; nothing built here imports it.
package stub
