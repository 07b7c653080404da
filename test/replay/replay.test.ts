import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, Runtime, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';
import * as workflows from '../../workflows/index.ts';
import { World } from '../activities/forged/world.ts';
import { featuresOf } from './features.ts';
import { historiesOf, typeOf, versions, type History } from './histories.ts';

/**
 * Histories of workflows, recorded by `record.ts`. The current code must replay all of them: otherwise, an upgrade of
 * drover would break the workflows that are running.
 */
const histories = new Map(versions().flatMap((version) => [...historiesOf(version)]));

/** What running workflows are in the middle of when drover is upgraded. */
const SHOWN = [
  /^pool: continues as new$/,
  /^pool: begins with carried acts$/,
  /^pool: begins with carried failureBackoff$/,
  /^replicaSet: continues as new$/,
  /^operation: begins with carried done$/,
  /^operation: begins with carried turn$/,
  /^\w+: \w+ failed$/,
  /^pool: child updateBatch$/,
  /^updateBatch: removeVms$/,
  /^pool: evacuateVms$/,
  /^pool: child healVm$/,
  /^healVm: removeUnhealthyVm$/,
  /^pool: changeMembers$/,
  /^pool: promoteStandbyVms$/,
  /^operation: changePower$/,
  /^operation: followTransition$/,
  /^operationSchedule: lookAtSchedule$/,
  /^vmiReplicaSet: createReplicas$/,
  /^watch: watchCluster$/,
];

/** Activities that no recorded test leads to: those of the model do. */
const NOT_ON_SERVERS = ['checkMachineTypes', 'reportDropped', 'lookAtCheck'];

const workflowInterceptorModules = [fileURLToPath(new URL('replay-queue.ts', import.meta.url))];
let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  // Logging is off: the tests check for what a broken replay would log.
  Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'OFF' } } });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    workflowInterceptorModules,
    logger: quiet,
  });
});

type Errors = Map<string, Error | undefined>;

/** Replays histories on one worker: a worker of its own for each took most of the CPU. */
async function replay(all: ReadonlyMap<string, History>): Promise<Errors> {
  const errors: Errors = new Map();
  const options = { workflowBundle, interceptors: { workflowModules: workflowInterceptorModules } };
  const named = [...all].map(([workflowId, history]) => ({ workflowId, history }));
  for await (const { workflowId, error } of Worker.runReplayHistories(options, named)) errors.set(workflowId, error);
  return errors;
}

describe("today's code replays", () => {
  let errors: Errors;
  beforeAll(async () => void (errors = await replay(histories)));
  test.each([...histories.keys()])('%s', (name) => {
    expect([...errors.keys()]).toContain(name);
    expect(errors.get(name)).toBeUndefined();
  });
});

describe('a history that the code would not have made is reported', () => {
  const changed = new Map([...histories].filter(([, history]) => firstActivity(history) !== undefined));
  let errors: Errors;
  beforeAll(async () => {
    const others = [...changed].map(([name, history]): [string, History] => {
      const other = structuredClone(history);
      firstActivity(other)!.activityType.name = 'another';
      return [name, other];
    });
    errors = await replay(new Map(others));
  });
  test.each([...changed.keys()])('%s, with another activity in the place of one', (name) => {
    expect(errors.get(name)?.message).toMatch(/another/);
  });
});

/** Returns what schedules the first activity of a history. */
function firstActivity({ events }: History): { activityType: { name: string } } | undefined {
  return events.find((event) => event.activityTaskScheduledEventAttributes !== undefined)
    ?.activityTaskScheduledEventAttributes;
}

describe('the histories of each version show', () => {
  const byVersion = versions().map((version) => {
    const all = [...historiesOf(version).values()];
    return { version, types: new Set(all.map(typeOf)), events: all.flatMap((one) => [...featuresOf(one).events]) };
  });

  test.each(byVersion)('each type of workflow: $version', ({ types }) => {
    // What a later version adds is not in the histories of an earlier one.
    for (const type of types) expect(Object.keys(workflows)).toContain(type);
    expect(types.size).toBeGreaterThanOrEqual(8);
  });

  test.each(
    byVersion.flatMap(({ version, events }) =>
      SHOWN.map((what) => ({ version, events, what: String(what), is: what })),
    ),
  )('$what: $version', ({ events, is }) => {
    expect(events.some((event) => is.test(event))).toBe(true);
  });
});

test('the newest histories show each type of workflow of today, and each activity that these call', async () => {
  const newest = [...historiesOf(versions().at(-1)!).values()];
  expect([...new Set(newest.map(typeOf))].toSorted()).toEqual(Object.keys(workflows).toSorted());
  const shown = newest.flatMap((history) => [...featuresOf(history).events]);
  const missing = (await new World().start()).names.filter((name) => !shown.some((one) => one.endsWith(`: ${name}`)));
  expect(NOT_ON_SERVERS).toEqual(expect.arrayContaining(missing));
});

const quiet = { log: () => {}, trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
