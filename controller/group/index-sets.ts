// Indexes of a group: sets of Pods by a key. A set that becomes empty is removed, so that an index never outgrows what
// it indexes. Pure.

export function addTo<K>(index: Map<K, Set<string>>, key: K, uid: string): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, new Set([uid]));
  else known.add(uid);
}

export function removeFrom<K>(index: Map<K, Set<string>>, key: K, uid: string): void {
  const known = index.get(key);
  known?.delete(uid);
  if (known?.size === 0) index.delete(key);
}

/** Adds the Pod to a set, or removes it. */
export function mark(set: Set<string>, uid: string, belongs: boolean): void {
  if (belongs) set.add(uid);
  else set.delete(uid);
}
