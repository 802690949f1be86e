// One change of a watched object. Each version of an object is reported at most once.

/** The object that changed. */
export interface Subject {
  /** namespace/name, or just the name of a cluster-scoped object. */
  readonly key: string;
  readonly uid: string;
}

export type Change<T> =
  | (Subject & { readonly kind: "added"; readonly item: T; readonly resourceVersion: string })
  | (Subject & { readonly kind: "updated"; readonly item: T; readonly old: T; readonly resourceVersion: string })
  /** `item` is the last state: from the DELETED event, or from the cache if that event was missed. */
  | (Subject & { readonly kind: "deleted"; readonly item: T; readonly old: T });
