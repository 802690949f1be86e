// Everything in a simulated run: the world, the nodes, the controllers of Job and JobSet, and reprise's own controller.
import { Controllers } from "./controllers.ts";
import { JobController } from "./job-controller.ts";
import { JobSetController } from "./jobset-controller.ts";
import { Nodes } from "./nodes.ts";
import { PolicyJudge } from "./policy-judge.ts";
import type { JobSetShape } from "./shape.ts";
import { World } from "./world.ts";

export class Cluster {
  readonly world: World;
  readonly nodes: Nodes;
  readonly jobs: JobController;
  readonly jobSets: JobSetController;
  readonly policies: PolicyJudge;
  readonly controllers: Controllers;

  constructor(seed: number, shape: JobSetShape) {
    const world = new World(seed);
    this.world = world;
    world.training.hangAfterMs = shape.hangAfterMs;
    world.finalCodes = new Set(shape.policies?.failCodes);
    this.nodes = new Nodes(world, (pod) => {
      if (pod?.phase === "Succeeded") this.jobs.podSucceeded(pod);
      else if (pod !== undefined) world.schedule.after(this.jobs.podLost(pod), () => this.jobSets.plan());
      this.jobSets.plan();
    });
    this.jobs = new JobController(world, this.nodes);
    this.policies = new PolicyJudge(shape, {
      now: () => world.schedule.now,
      isSteady: () => world.api.isSteady,
      breach: (what) => world.judge.report(what),
    });
    this.jobSets = new JobSetController(world, this.nodes, this.jobs, shape, this.policies);
    this.jobSets.create();
    this.jobSets.poll();
    this.controllers = new Controllers(this);
  }
}
