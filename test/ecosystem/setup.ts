// Builds what every ecosystem test needs. Each test builds the product that it runs in its own `beforeAll`.
import prepareCluster from "../e2e/setup.ts";

export default async function setup(): Promise<void> {
  await prepareCluster();
}
