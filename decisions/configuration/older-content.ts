import { CAPS } from '../../api/lib/caps.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { rfc3339 } from '../lib/time.ts';
import { isJudged, isOlder, laterChange, type Content, type ContentChange } from '../template/content.ts';
import type { OwnReference } from '../template/references.ts';
import type { PoolTemplate } from '../template/template.ts';
import { numberOf } from '../template/vm-names.ts';
import type { StoredPool } from '../views/pool.ts';
import type { VmView } from '../views/vm.ts';
import type { VmiView } from '../views/vmi.ts';
import { nameFor, startReferences } from './start-references.ts';

/** What a worker knows of the Secrets and ConfigMaps in a pool's namespace. */
export type Contents =
  /** `forbidden`: which of them the worker may not follow. */
  { forbidden: string } | { of: (reference: OwnReference) => Content | undefined };

/** Whether VMIs run with older content than there is. */
export interface OlderContent {
  /**
   * Returns the newest change that the VMI has started before; null if it is up to date, or the pool hasn't opted in.
   */
  changeFor: (vm: VmView, vmi: VmiView) => ContentChange | null;
  /** What is known beyond what the API server tells. */
  judged: () => StoredContent[];
}

type StoredContent = NonNullable<PoolStatus['contents']>[number];

interface OlderContentInput {
  pool: StoredPool;
  vms: readonly VmView[];
  vmiOf: (vm: VmView) => VmiView | undefined;
  templateOf: (revision: string) => PoolTemplate | undefined;
  /** Null as long as they are not known, or the pool doesn't ask for them. */
  contents: Contents | null;
}

/** Reports whether VMs of the pool restart when what they have read changes. */
export const restartsOnChange = ({ spec }: Pick<StoredPool, 'spec'>): boolean =>
  spec.rollout?.onConfigChange === 'Restart';

export function olderContent({ pool, vms, vmiOf, templateOf, contents }: OlderContentInput): OlderContent {
  const stored = pool.status?.contents ?? [];
  if (!restartsOnChange(pool)) return { changeFor: () => null, judged: () => [] };
  if (contents === null || 'forbidden' in contents) return { changeFor: () => null, judged: () => stored };
  const remembered = new Map(stored.map((one) => [referenceKey(one), contentFrom(one)]));
  // The status has the newest: if it is full, it may have had no place for what was written before these.
  const forgotten = stored.length < CAPS.contents ? -1 : Math.min(...[...remembered.values()].map(writtenAtOf));
  const known = new Map<string, Content | undefined>();
  const contentOf = (reference: OwnReference): Content | undefined => {
    const key = referenceKey(reference);
    if (!known.has(key)) known.set(key, withMemory(contents.of(reference), remembered.get(key), forgotten));
    return known.get(key);
  };
  const contentsFor = (vm: VmView, vmi: VmiView): Content[] => {
    const template = vmi.revision === null ? undefined : templateOf(vmi.revision);
    if (template === undefined) return [];
    const number = numberOf(pool.metadata.name, vm.name);
    return startReferences(template).flatMap((reference) => {
      const name = nameFor(reference, number);
      return (name === null ? undefined : contentOf({ kind: reference.kind, name })) ?? [];
    });
  };
  const changes = new Map<string, ContentChange | null>();
  const newestChange = (vm: VmView, vmi: VmiView): ContentChange | null =>
    contentsFor(vm, vmi)
      .filter((content) => isOlder(vmi.createdAt, content))
      .map(({ kind, name, changedAt }): ContentChange => ({ what: `${kind} ${name}`, at: changedAt }))
      .reduce<ContentChange | null>(laterChange, null);
  return {
    changeFor: (vm, vmi) => {
      if (!changes.has(vmi.uid)) changes.set(vmi.uid, newestChange(vm, vmi));
      return changes.get(vmi.uid)!;
    },
    judged: () => {
      const byName = new Map<string, Content>();
      for (const vm of vms) {
        const vmi = vmiOf(vm);
        // A VMI that has started since needs none of that.
        for (const content of vmi === undefined ? [] : contentsFor(vm, vmi))
          if (isJudged(content) && vmi!.createdAt <= Math.max(content.writtenAt, content.changedAt))
            byName.set(referenceKey(content), content);
      }
      const newest = [...byName.values()].sort((a, b) => b.writtenAt - a.writtenAt || byKey(a, b));
      return newest.slice(0, CAPS.contents).sort(byKey).map(contentToStore);
    },
  };
}

/**
 * A worker does not know what happened before its watch began, so the status records when the content had last changed
 * at that write. What the status may have `forgotten`, written by then, is nothing to go by.
 */
function withMemory(
  content: Content | undefined,
  remembered: Content | undefined,
  forgotten: number,
): Content | undefined {
  if (content !== undefined && remembered === undefined && !isJudged(content) && content.writtenAt <= forgotten)
    return undefined;
  if (content === undefined || remembered?.writtenAt !== content.changedAt) return content;
  const { changedAt, same } = remembered;
  return { ...content, changedAt, same: content.same.length > 0 ? content.same : same };
}

const writtenAtOf = ({ writtenAt }: Content): number => writtenAt;
const referenceKey = ({ kind, name }: OwnReference): string => `${kind}/${name}`;
const byKey = (a: OwnReference, b: OwnReference): number => (referenceKey(a) < referenceKey(b) ? -1 : 1);

const contentToStore = ({ kind, name, writtenAt, changedAt, same }: Content): StoredContent => ({
  kind,
  name,
  writtenAt: rfc3339(writtenAt),
  changedAt: rfc3339(changedAt),
  ...(same.length === 0
    ? {}
    : { same: same.map(({ after, before }) => ({ after: rfc3339(after), before: rfc3339(before) })) }),
});

const contentFrom = ({ kind, name, writtenAt, changedAt, same = [] }: StoredContent): Content => ({
  kind,
  name,
  writtenAt: Date.parse(writtenAt),
  changedAt: Date.parse(changedAt),
  same: same.map(({ after, before }) => ({ after: Date.parse(after), before: Date.parse(before) })),
});
