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
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json.gz'));

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
}, 60_000);

const replay = (history: History, id: string): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle }, history, id);

test('there is a history of every workflow type', () => {
  expect([...new Set(files.map((file) => typeOf(read(file))))].toSorted()).toEqual(Object.keys(workflows).toSorted());
});

describe("today's code replays", () => {
  test.each(files)('%s', async (file) => {
    await expect(replay(read(file), file)).resolves.toBeUndefined();
  });
});

describe('a history that the code would not have made is reported', () => {
  test.each(files)('%s, with another activity in the place of one', async (file) => {
    const history = read(file);
    const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes !== undefined);
    scheduled!.activityTaskScheduledEventAttributes!.activityType.name = 'another';
    await expect(replay(history, file)).rejects.toThrow(/another/);
  });
});

const quiet = { log: () => {}, trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
