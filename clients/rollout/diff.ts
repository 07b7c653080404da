import { FILE_HEADERS_ONLY, createTwoFilesPatch } from 'diff';
import { stringify } from 'yaml';
import { poolTemplate, type PoolTemplate } from '../../decisions/pool-template.ts';
import { revisionOf } from '../../decisions/revision.ts';
import type { Stored } from '../../kubernetes/objects.ts';
import type { Pool } from '../fleet.ts';
import { paint } from '../output.ts';
import { findRevision, inWords, type Revision } from './revisions.ts';

/** One side of a comparison. */
export interface Side {
  title: string;
  template: PoolTemplate;
}

/** What is asked for, by number or hash. */
export interface Compared {
  from?: string | undefined;
  to?: string | undefined;
}

/**
 * What is compared: what is asked for, else the last revision that all VMs had with the template that the pool has now.
 * Throws `Failure` for a revision that is not kept.
 */
export function sidesOf({ metadata: { name }, spec, status }: Stored<Pool>, revisions: Revision[], { from, to }: Compared): [Side, Side] {
  const now = revisionOf(poolTemplate(spec));
  const kept = revisions.find(({ hash }) => hash === now);
  const template: Side = { title: `the template now, revision ${inWords(kept ?? { hash: now, number: null })}`, template: poolTemplate(spec) };
  const first = from ?? status?.currentRevision;
  return [
    first === undefined ? template : sideOf(findRevision(revisions, first, name)),
    to === undefined ? template : sideOf(findRevision(revisions, to, name)),
  ];
}

const sideOf = (revision: Revision): Side => ({ title: `revision ${inWords(revision)}`, template: revision.template });

/** The lines in which two templates differ, as `diff -u` shows them; none where they are equal, whatever the order of their keys. */
export function templateDiff(from: Side, to: Side): string[] {
  const [before, after] = [yamlOf(from.template), yamlOf(to.template)];
  if (before === after) return [];
  const patch = createTwoFilesPatch(from.title, to.title, before, after, undefined, undefined, { context: 3, headerOptions: FILE_HEADERS_ONLY });
  return patch.trimEnd().split('\n').map(coloured);
}

const yamlOf = (template: PoolTemplate): string => stringify(template, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });

function coloured(line: string): string {
  if (line.startsWith('---') || line.startsWith('+++')) return paint('bold', line);
  if (line.startsWith('@@')) return paint('cyan', line);
  return line.startsWith('+') ? paint('green', line) : line.startsWith('-') ? paint('red', line) : line;
}
