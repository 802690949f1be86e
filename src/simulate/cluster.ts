// Everything in a simulated run: the world, the nodes, the controllers of Job and JobSet, and reprise's own controller.
import { Controllers } from "./controllers.ts";
import { JobController } from "./job-controller.ts";
import { JobSetController } from "./jobset-controller.ts";
import { Nodes } from "./nodes.ts";
import type { JobSetShape } from "./shape.ts";
import { World } from "./world.ts";

export class Cluster {
  readonly world: World;
  readonly nodes: Nodes;
  readonly jobs: JobController;
  readonly jobSets: JobSetController;
  readonly controllers: Controllers;

  constructor(seed: number, shape: JobSetShape) {
    const world = new World(seed);
    this.world = world;
    this.nodes = new Nodes(world, (pod) => {
      if (pod !== undefined && pod.phase !== "Succeeded")
        world.schedule.after(this.jobs.podLost(pod), () => this.jobSets.plan());
      this.jobSets.plan();
    });
    this.jobs = new JobController(world, this.nodes);
    this.jobSets = new JobSetController(world, this.nodes, this.jobs, shape);
    this.jobSets.create();
    this.jobSets.poll();
    this.controllers = new Controllers(this);
  }
}
