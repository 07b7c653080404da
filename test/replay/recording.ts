import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { History } from './histories.ts';

/** Folder in which fleets leave the histories of all that they have run: `record.ts` chooses among them. */
export const RECORDING = 'DROVER_TEST_RECORDING';
const folder = process.env[RECORDING];

/** Has workflows continue as new after so few events, so that histories hold what a run hands to the next. */
const CONTINUE_AS_NEW_AFTER = 60;

/** Dynamic configuration of the Temporal of tests. */
export const temporalSettings: readonly string[] =
  folder === undefined ? [] : [`limit.historyCount.suggestContinueAsNew=${CONTINUE_AS_NEW_AFTER}`];

const ended = new Set<string>();

/** Leaves the histories of all workflows, if this run of the tests is a recording. */
export async function recordHistories({ workflow }: Client): Promise<void> {
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for await (const { workflowId, runId, status } of workflow.list()) {
    if (ended.has(runId)) continue;
    if (status.name !== 'RUNNING') ended.add(runId);
    const history = await workflow.getHandle(workflowId, runId).fetchHistory();
    writeFileSync(join(folder, `${runId}.json`), historyToJSON(history));
  }
}

/** What tells of the machine that recorded, and is not replayed. */
const OF_THE_MACHINE = { identity: 'worker', stackTrace: '' };

/** Temporal's core waits for ever as it replays a run that no worker has begun. */
const hasBegun = ({ events }: History): boolean => events.some(({ eventType }) => eventType === TASK_COMPLETED);
const TASK_COMPLETED = 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED';

/** Returns what a run of the tests has recorded. */
export const recorded = (from: string): History[] =>
  readdirSync(from)
    .toSorted()
    .map((file) => {
      const text = readFileSync(join(from, file), 'utf8').replaceAll(/\b\d+@[\w.-]+/g, '1@worker');
      return JSON.parse(text, (key, value: unknown) =>
        key in OF_THE_MACHINE ? OF_THE_MACHINE[key as keyof typeof OF_THE_MACHINE] : value,
      ) as History;
    })
    .filter(hasBegun);
