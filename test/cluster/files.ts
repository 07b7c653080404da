import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const PROJECT = resolve(import.meta.dirname, '../..');
const OWN_SERVERS = 'it starts servers of its own, on every machine the same';
/** These tests create what KubeVirt would create, and write what it would write, between two calls of one activity. */
const BY_HAND = {
  folder: 'test/activities/',
  reason: "it plays KubeVirt's part by hand, and KubeVirt would write in between",
};

/** Files that could run on a given cluster, and why they don't. */
const SKIPPED: Record<string, string> = {
  'test/cluster/run.int.test.ts': 'it tests this runner',
  'test/deploy/cluster.int.test.ts': "it applies deploy/ as a whole, with drover's own namespace",
  'test/deploy/image.int.test.ts': 'it runs the image, which is on every machine the same',
  'test/deploy/rights.int.test.ts':
    "it makes drover's own service accounts; the workers of all other tests have their rights here",
  'test/integration/servers/two-clusters.int.test.ts': 'it takes two clusters',
  'test/deploy/worker-policy.int.test.ts':
    "it tries the worker's role and policy, whose changes would be the cluster's",
  'test/kubernetes/list-watch.int.test.ts': 'it makes more objects than a cluster should have to bear for a test',
};

export interface Files {
  run: string[];
  skipped: { file: string; reason: string }[];
}

/**
 * Returns all integration tests, split by whether they run on a given cluster: those that leave the choice of servers
 * to `aFleet` do.
 */
export function integrationTests(project = PROJECT): Files {
  const files: Files = { run: [], skipped: [] };
  for (const file of globSync('test/**/*.int.test.ts', { cwd: project }).sort()) {
    const reason =
      SKIPPED[file] ??
      (file.startsWith(BY_HAND.folder) ? BY_HAND.reason : undefined) ??
      (/\baFleet\(/.test(readFileSync(join(project, file), 'utf8')) ? undefined : OWN_SERVERS);
    if (reason === undefined) files.run.push(file);
    else files.skipped.push({ file, reason });
  }
  return files;
}
