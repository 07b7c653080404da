import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { bundleWorkflowCode, Runtime, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';
import * as workflows from '../../workflows/index.ts';

/**
 * Histories of workflows, recorded by `node test/replay/record.ts`. The current code must replay all of them:
 * otherwise, an upgrade of drover would break the workflows that are running. Histories are only ever added.
 */
const FOLDER = join(import.meta.dirname, 'histories');
const files = readdirSync(FOLDER, { encoding: 'utf8', recursive: true }).filter((file) => file.endsWith('.json.gz'));

interface History {
  events: {
    workflowExecutionStartedEventAttributes?: { workflowType: { name: string } };
    activityTaskScheduledEventAttributes?: { activityType: { name: string } };
  }[];
}
const read = (file: string): History => JSON.parse(gunzipSync(readFileSync(join(FOLDER, file))).toString()) as History;
const typeOf = (history: History): string =>
  history.events[0]!.workflowExecutionStartedEventAttributes!.workflowType.name;

let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  // Logging is off: the tests check for what a broken replay would log.
  Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'OFF' } } });
  workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    logger: quiet,
  });
});

type Errors = Map<string, Error | undefined>;

/** Replays a history of each file on one worker: a worker of its own for each took most of the CPU. */
async function replay(historyOf: (file: string) => History): Promise<Errors> {
  const histories = files.map((file) => ({ workflowId: file, history: historyOf(file) }));
  const errors: Errors = new Map();
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories))
    errors.set(workflowId, error);
  return errors;
}

test('there is a history of every workflow type', () => {
  expect([...new Set(files.map((file) => typeOf(read(file))))].toSorted()).toEqual(Object.keys(workflows).toSorted());
});

describe("today's code replays", () => {
  let errors: Errors;
  beforeAll(async () => void (errors = await replay(read)));
  test.each(files)('%s', (file) => {
    expect([...errors.keys()]).toContain(file);
    expect(errors.get(file)).toBeUndefined();
  });
});

describe('a history that the code would not have made is reported', () => {
  let errors: Errors;
  beforeAll(async () => {
    errors = await replay((file) => {
      const history = read(file);
      const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes !== undefined);
      scheduled!.activityTaskScheduledEventAttributes!.activityType.name = 'another';
      return history;
    });
  });
  test.each(files)('%s, with another activity in the place of one', (file) => {
    expect(errors.get(file)?.message).toMatch(/another/);
  });
});

const quiet = { log: () => {}, trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
