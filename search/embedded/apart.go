package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"searchd/search/backend"
	"searchd/store"
)

// apart is a collection that cannot be opened because a stored value is damaged, or could not be when its settings changed. It is listed
// and can be dropped.
type apart struct {
	id     uint32
	name   string
	config backend.Config
	damage string // which value, and what is wrong
	err    error  // what every other request gets; [backend.ErrDamaged]
}

// setApart notes why a collection cannot be opened.
func (b *Backend) setApart(sc store.Collection, err error) *apart {
	a := &apart{id: sc.ID, name: sc.Name, damage: b.damage(sc.ID, err)}
	if err := json.Unmarshal(sc.Settings, &a.config); sc.Settings != nil && err != nil {
		a.damage += fmt.Sprintf("; settings: %v", err)
	}
	b.notice(fmt.Sprintf("collection %s cannot be opened, the others can: %s", sc.Name, a.damage))
	a.err = &backend.DamagedError{Collection: sc.Name, Damage: a.damage}
	return a
}

// setApartUnopened is setApart of a collection of which nothing is damaged: its indexes could not be opened.
func (b *Backend) setApartUnopened(sc store.Collection, err error) *apart {
	a := &apart{id: sc.ID, name: sc.Name, damage: "nothing is lost, but its indexes could not be opened again after a change of settings; a restart tries again"}
	_ = json.Unmarshal(sc.Settings, &a.config)
	a.err = &backend.DamagedError{Collection: sc.Name, Damage: a.damage}
	b.alarm(fmt.Sprintf("collection %s cannot be opened again: %v", sc.Name, err))
	return a
}

// setApartUnread is setApart of a collection of which the record itself is damaged. One whose name cannot be read either gets one.
func (b *Backend) setApartUnread(d store.DamagedCollection) {
	name := d.Name
	for n := ""; name == "" || b.mu.byName[name] != nil || b.mu.apart[name] != nil; n += "x" {
		name = fmt.Sprintf("damaged-%d%s", d.ID, n)
	}
	b.mu.apart[name] = b.setApart(store.Collection{ID: d.ID, Name: name}, d.Err)
}

// damage says which document a corrupt record belongs to.
func (b *Backend) damage(collection uint32, err error) string {
	var ce *store.CorruptError
	if !errors.As(err, &ce) {
		return err.Error()
	}
	var no uint32
	var id, part string
	viewErr := b.store.View(context.Background(), collection, func(tx *store.Tx) error {
		no, id, part = tx.Owner(ce)
		return nil
	})
	switch {
	case viewErr != nil || no == 0:
		return err.Error()
	case id == "":
		return fmt.Sprintf("document number %d, %s: %v", no, part, err)
	}
	return fmt.Sprintf("document %q, %s: %v", id, part, err)
}

// setApartNow returns the collections that cannot be opened, by name.
func (b *Backend) setApartNow() []*apart {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := make([]*apart, 0, len(b.mu.apart))
	for _, a := range b.mu.apart {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *apart) int { return cmp.Compare(a.name, b.name) })
	return list
}
