// The two sides of the comparison. Each gets a control plane of its own, with only what its users would install.

export const SIDES = ["reprise", "upstream"] as const;
export type Side = (typeof SIDES)[number];

export const SIDE_TITLES: Readonly<Record<Side, string>> = {
  reprise: "reprise",
  upstream: "JobSet InPlaceRestart (alpha)",
};

/** The process that decides when a group restarts, by its name in the control plane. */
export const COORDINATOR: Readonly<Record<Side, string>> = { reprise: "reprise-controller", upstream: "jobset" };

/** The object that agents follow, as resource of the API server's metrics. */
export const FOLLOWED: Readonly<Record<Side, string>> = { reprise: "groupepochs", upstream: "jobsets" };
