import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Stored } from '../../api/objects.ts';

const FOLDER = join(import.meta.dirname, 'histories');
const ENDING = '.jsonl.gz';
/** Beside the histories: objects as the API server had them, a line each. */
const OBJECTS = `objects${ENDING}`;

interface Named {
  name: string;
}

/** An event of a workflow's history in Temporal's JSON, as far as tests read it. */
export interface HistoryEvent {
  eventId: string;
  eventType: string;
  workflowExecutionStartedEventAttributes?: {
    workflowType: Named;
    continuedExecutionRunId?: string;
    input?: { payloads?: { data?: string }[] };
  };
  activityTaskScheduledEventAttributes?: { activityType: Named };
  workflowExecutionSignaledEventAttributes?: { signalName: string };
  startChildWorkflowExecutionInitiatedEventAttributes?: { workflowType: Named };
  markerRecordedEventAttributes?: {
    markerName: string;
    details?: Record<string, { payloads?: { data?: string }[] }>;
    failure?: object;
  };
  [attributes: string]: unknown;
}

export interface History {
  events: HistoryEvent[];
}

export const typeOf = ({ events }: History): string =>
  events[0]!.workflowExecutionStartedEventAttributes!.workflowType.name;

export const folderOf = (version: string): string => join(FOLDER, version);

/** The versions of drover whose histories are kept, the oldest first. */
export const versions = (): string[] =>
  readdirSync(FOLDER).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** Returns the files of a version. */
export const filesOf = (version: string): string[] => readdirSync(folderOf(version)).toSorted();

const linesOf = (version: string, file: string): string[] =>
  gunzipSync(readFileSync(join(folderOf(version), file)))
    .toString()
    .split('\n')
    .filter(Boolean);

/** Returns the histories of a version, by names such as `0.1.0/pool/3`. */
export function historiesOf(version: string): Map<string, History> {
  const all = new Map<string, History>();
  for (const file of filesOf(version).filter((one) => one !== OBJECTS))
    for (const [index, line] of linesOf(version, file).entries())
      all.set(`${version}/${file.replace(ENDING, '')}/${index + 1}`, JSON.parse(line) as History);
  return all;
}

/** Returns the objects of a version. */
export const objectsOf = (version: string): Stored[] =>
  linesOf(version, OBJECTS).map((line) => JSON.parse(line) as Stored);

/** Replaces the histories of a version: a file for each type of workflow, with a history on each line. */
export function writeHistories(version: string, histories: readonly History[]): void {
  rmSync(folderOf(version), { recursive: true, force: true });
  mkdirSync(folderOf(version), { recursive: true });
  for (const [type, some] of Map.groupBy(histories, typeOf)) writeLines(version, `${type}${ENDING}`, some);
}

export const writeObjects = (version: string, objects: readonly Stored[]): void =>
  writeLines(version, OBJECTS, objects);

function writeLines(version: string, file: string, all: readonly object[]): void {
  const lines = all.map((one) => `${JSON.stringify(one)}\n`).join('');
  writeFileSync(join(folderOf(version), file), gzipSync(lines, { level: 9 }));
}
