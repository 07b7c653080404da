import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { releasedIn } from '../../deploy/release/freeze.ts';
import { choose, chooseObjects } from './choose.ts';
import { filesOf, folderOf, writeHistories, writeObjects } from './histories.ts';
import { recorded, recordedObjects, RECORDING } from './recording.ts';

/**
 * `npx node test/replay/record.ts VERSION`: runs the tests on servers that lead workflows through all that they do,
 * with workers that are killed in the middle, and keeps as few histories of them, and objects, as show everything. Run
 * it before a release, and when a workflow takes a path that no kept history takes.
 */
const FILES = [
  'configuration/configuration.',
  'disruption-budget/',
  'drain/',
  'healing/healing-control',
  'healing/healing-limits',
  'healing/healing.int',
  'machine-types/',
  'membership/',
  'operations/operations',
  'pool/deletion',
  'pool/kept-disks',
  'pool/made-up',
  'pool/quota',
  'pool/scale',
  'power/',
  'replica-sets/instance-set',
  'replica-sets/replica-set.int',
  'rollout/rollout-check',
  'rollout/rollout-control',
  'rollout/rollout-failure',
  'rollout/surge',
  'schedules/',
  'servers/crash',
];
/** Tests of these that take turns elsewhere all run here: each shows something of its own. */
const ALL_OF = ['replica-sets/both-kinds', 'rollout/rollout-semantics', 'standby/'];

const project = resolve(import.meta.dirname, '../..');
const [, , version, from] = process.argv;
if (version === undefined) throw new Error('say what the histories are of: npx node test/replay/record.ts 0.1.0');
if (version in releasedIn(project))
  throw new Error(`${version} is released, and its histories never change: give the next version`);

/** Runs tests, and leaves the histories of what they have run in the folder. */
function runTests(into: string, names: readonly string[], env: Record<string, string>): void {
  const files = names.map((name) => `test/integration/${name}`);
  const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'servers', ...files], {
    cwd: project,
    stdio: 'inherit',
    env: { ...process.env, ...env, [RECORDING]: into },
  });
  // A test may count on workflows that continue as new later.
  if (status !== 0) process.stdout.write('some tests failed; what their workflows did is recorded all the same\n');
}

const folder = from ?? mkdtempSync(join(tmpdir(), 'drover-recording-'));
if (from === undefined) {
  runTests(folder, FILES, {});
  runTests(folder, ALL_OF, { DROVER_TEST_SOAK: '1' });
}
const all = recorded(folder);
const kept = choose(all);
const objects = chooseObjects(recordedObjects(folder));
writeHistories(version, kept);
writeObjects(version, objects);
if (from === undefined) rmSync(folder, { recursive: true });
const bytes = filesOf(version).reduce((sum, file) => sum + statSync(join(folderOf(version), file)).size, 0);
process.stdout.write(
  `${kept.length} of ${all.length} histories and ${objects.length} objects kept, ${Math.round(bytes / 1024)} KiB, in test/replay/histories/${version}\n`,
);
