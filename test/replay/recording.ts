import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { apiVersionOf, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import type { History } from './histories.ts';
import { KEPT_KINDS, shownBy } from './stored-objects.ts';

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

/** Objects that one process of the tests has seen. */
const objects = `${randomUUID()}.jsonl`;
const shown = new Set<string>();

/** Leaves each version of an object that shows what none before it has, until the returned function is called. */
export function recordObjects(client: KubeClient): () => Promise<unknown> {
  if (folder === undefined) return () => Promise.resolve();
  mkdirSync(folder, { recursive: true });
  const keep = (seen: Stored, resource: Resource): void => {
    const { managedFields: _, ...metadata } = seen.metadata;
    // A list leaves version and kind out.
    const object = { ...seen, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
    const before = shown.size;
    for (const feature of shownBy(object)) shown.add(feature);
    if (shown.size > before) appendFileSync(join(folder, objects), `${JSON.stringify(object)}\n`);
  };
  const watches = KEPT_KINDS.map((resource) =>
    new ListWatch<KubeObject, void>({ client, resource, view: (object) => keep(object, resource) }).start(),
  );
  return () => Promise.all(watches.map((watch) => watch.stop()));
}

/** What tells of the machine that recorded, and is not replayed. */
const OF_THE_MACHINE = { identity: 'worker', stackTrace: '' };

/** Temporal's core waits for ever as it replays a run that no worker has begun. */
const hasBegun = ({ events }: History): boolean => events.some(({ eventType }) => eventType === TASK_COMPLETED);
const TASK_COMPLETED = 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED';

const textsIn = (from: string, ending: string): string[] =>
  readdirSync(from)
    .filter((file) => file.endsWith(ending))
    .toSorted()
    .map((file) => readFileSync(join(from, file), 'utf8').replaceAll(/\b\d+@[\w.-]+/g, '1@worker'));

/** Returns the histories that a run of the tests has recorded. */
export const recorded = (from: string): History[] =>
  textsIn(from, '.json')
    .map(
      (text) =>
        JSON.parse(text, (key, value: unknown) =>
          key in OF_THE_MACHINE ? OF_THE_MACHINE[key as keyof typeof OF_THE_MACHINE] : value,
        ) as History,
    )
    .filter(hasBegun);

/** Returns the objects that it has recorded. */
export const recordedObjects = (from: string): Stored[] =>
  textsIn(from, '.jsonl')
    .flatMap((text) => text.split('\n').filter(Boolean))
    .map((line) => JSON.parse(line) as Stored);
