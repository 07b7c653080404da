import { FILE_HEADERS_ONLY, createTwoFilesPatch } from 'diff';
import { stringify } from 'yaml';
import type { Stored } from '../../api/objects.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate, type PoolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { printNote, paint, plain, print } from '../cli/print.ts';
import { onePool } from '../pool/named-pools.ts';
import { findRevision, formatRevision, readRevisions, type Revision } from '../pool/revisions.ts';
import type { Work } from '../session/session.ts';
import { disruptionOf } from './disruption.ts';

interface Side {
  title: string;
  template: PoolTemplate;
}

/** The revisions asked for, by number or hash. */
interface Compared {
  from?: string | undefined;
  to?: string | undefined;
}

/** Prints how two templates of a pool differ, and what it takes to bring VMIs from one to the other. */
export const rolloutDiff: Work<{ revision?: string; to?: string }> = async (session, { revision, to }, ...args) => {
  const pool = await onePool(session, args);
  const kube = await session.kube();
  const [before, after] = sidesOf(pool, await readRevisions(kube, pool), { from: revision, to });
  const lines = templateDiff(before, after);
  if (lines.length === 0) return printNote(`${before.title} and ${after.title} do not differ`);
  print(lines);
  print(`\n${await disruptionOf(kube, pool, before.template, after.template)}`);
};

/**
 * The two sides to compare: those asked for, by default the last revision that all VMs had and the pool's template.
 * Throws `Failure` for a revision that is not kept.
 */
export function sidesOf(
  { metadata: { name }, spec, status }: Stored<Pool>,
  revisions: Revision[],
  { from, to }: Compared,
): [Side, Side] {
  const now = revisionOf(poolTemplate(spec));
  const kept = revisions.find(({ hash }) => hash === now);
  const template: Side = {
    title: `the template now, revision ${formatRevision(kept ?? { hash: now, number: null })}`,
    template: poolTemplate(spec),
  };
  const first = from ?? status?.currentRevision;
  return [
    first === undefined ? template : sideOf(findRevision(revisions, first, name)),
    to === undefined ? template : sideOf(findRevision(revisions, to, name)),
  ];
}

const sideOf = (revision: Revision): Side => ({
  title: `revision ${formatRevision(revision)}`,
  template: revision.template,
});

/**
 * The lines in which two templates differ, as in `diff -u`; empty if they are equal, whatever the order of their keys.
 */
export function templateDiff(from: Side, to: Side): string[] {
  const [before, after] = [yamlOf(from.template), yamlOf(to.template)];
  if (before === after) return [];
  return patchLines(from.title, to.title, before, after);
}

function patchLines(from: string, to: string, before: string, after: string): string[] {
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(from, to, before, after, undefined, undefined, options);
  return patch
    .trimEnd()
    .split('\n')
    .map((line) => coloured(plain(line)));
}

/** The lines in which two objects' specs differ; all lines of the second if there was none before. */
export function specDiff(label: string, before: { spec: object } | undefined, after: { spec: object }): string[] {
  const [from, to] = [before === undefined ? '' : yamlOf(before.spec), yamlOf(after.spec)];
  const title = before === undefined ? `${label} does not exist yet` : `${label} now`;
  return from === to ? [] : patchLines(title, `${label} as the manifest says`, from, to);
}

const yamlOf = (value: object): string =>
  stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });

function coloured(line: string): string {
  if (line.startsWith('---') || line.startsWith('+++')) return paint('bold', line);
  if (line.startsWith('@@')) return paint('cyan', line);
  if (line.startsWith('+')) return paint('green', line);
  return line.startsWith('-') ? paint('red', line) : line;
}
