import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstSeen, judged, type Known } from '../../../activities/configuration/judged-content.ts';
import type { ContentView } from '../../../decisions/from-object/content.ts';
import { isOlder } from '../../../decisions/template/content.ts';
import type { ListOptions, KubeClient } from '../../../kubernetes/client.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

const REFERENCE = { kind: 'Secret', name: 'user' } as const;
type Data = Record<string, string>;

/** What happens to a Secret, so many milliseconds after what happened before. */
interface Happening {
  later: number;
  what: { content: Data } | 'label' | 'made anew' | 'a VMI starts';
}

const both = { user: fc.constantFrom('a', 'b', 'c'), net: fc.constantFrom('x', 'y') };
const happenings = (content: fc.Arbitrary<Data>, maxLength: number): fc.Arbitrary<Happening[]> =>
  fc.array(
    fc.record({
      later: fc.integer({ min: 1, max: 2_500 }),
      what: fc.oneof(
        content.map((data) => ({ content: { ...data } })),
        fc.constantFrom('label' as const, 'made anew' as const),
        { weight: 3, arbitrary: fc.constant('a VMI starts' as const) },
      ),
    }),
    { maxLength },
  );
/** Of a key that was taken out, nobody knows when. */
const ofSameKeys = fc.record(both);
const ofAnyKeys = fc.record(both, { requiredKeys: ['user'] });

const seconds = (time: number): number => Math.floor(time / 1000) * 1000;

/** A Secret in an API server that remembers all of it, for as long as `remembers`. */
class History {
  readonly versions: { version: bigint; data: Data | null }[] = [];
  remembers = true;
  #uid = 0;
  #version = 10n;
  view!: ContentView;
  data: Data = {};

  write(at: number, data: Data, isNew = false): void {
    const isRemoval = !isNew && Object.entries(data).every(([key, value]) => this.data[key] === value);
    const writtenAt =
      isRemoval && Object.keys(data).length < Object.keys(this.data).length ? this.view.writtenAt : seconds(at);
    this.data = data;
    this.#put(data);
    this.view = this.#viewAt(writtenAt, isNew);
  }

  label(at: number): void {
    this.#put(this.data);
    this.view = this.#viewAt(seconds(at));
  }

  remove(): void {
    this.#put(null);
  }

  #put(data: Data | null): void {
    this.versions.push({ version: ++this.#version, data });
  }

  #viewAt(writtenAt: number, isNew = false): ContentView {
    if (isNew) this.#uid++;
    const keys = Object.keys(this.data).sort().join();
    return { namespace: 'ns', name: 'user', uid: String(this.#uid), version: this.#version, writtenAt, keys };
  }

  get client(): KubeClient {
    const list = (_resource: unknown, { asOf }: ListOptions) => {
      if (!this.remembers) return Promise.reject(new KubeError(410, 'Expired', 'too old'));
      const last = this.versions.findLast(({ version }) => version <= BigInt(asOf!));
      const items = !last?.data ? [] : [{ metadata: { resourceVersion: String(last.version) }, data: last.data }];
      return Promise.resolve({ items });
    };
    return { list } as unknown as KubeClient;
  }
}

interface Start {
  at: number;
  data: Data;
  /** Whether what it has read was changed within the second of its start. */
  isNear: boolean;
}

/** Plays what happens, before a worker that watches all of it. */
async function play(all: readonly Happening[], remembers: (at: number) => boolean) {
  const history = new History();
  let now = 1_000_000;
  history.write(now, { user: 'a', net: 'x' }, true);
  let known: Known = firstSeen(REFERENCE, history.view);
  const starts: Start[] = [];
  const writes: number[] = [now];
  for (const [index, { later, what }] of all.entries()) {
    now += later;
    if (what === 'a VMI starts') {
      starts.push({ at: now, data: history.data, isNear: false });
      continue;
    }
    writes.push(now);
    if (what === 'made anew') history.remove();
    const lastAsOf = what === 'made anew' ? history.versions.at(-1)!.version - 1n : history.view.version;
    if (what === 'label') history.label(now);
    else if (what === 'made anew') history.write(now, history.data, true);
    else history.write(now, what.content);
    history.remembers = remembers(index);
    known = await judged(history.client, known, history.view, lastAsOf, now);
  }
  for (const start of starts) start.isNear = writes.some((at) => Math.abs(seconds(at) - seconds(start.at)) <= 1_000);
  return { starts, known, history };
}

test('a VMI that does not have the current content restarts, whatever is remembered', async () => {
  await fc.assert(
    fc.asyncProperty(happenings(ofAnyKeys, 14), fc.array(fc.boolean()), async (all, memory) => {
      const { starts, known, history } = await play(all, (at) => memory[at] ?? true);
      for (const { at, data } of starts)
        if (JSON.stringify(data) !== JSON.stringify(history.data))
          expect(isOlder(seconds(at), known.content)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a VMI that has the current content stays, unless it started about the time of a write', async () => {
  await fc.assert(
    fc.asyncProperty(happenings(ofSameKeys, 10), async (all) => {
      const { starts, known, history } = await play(all, () => true);
      // Of more than a few changes, not all are remembered.
      fc.pre(all.filter(({ what }) => typeof what === 'object').length <= 4);
      for (const { at, data, isNear } of starts)
        if (!isNear && JSON.stringify(data) === JSON.stringify(history.data))
          expect(isOlder(seconds(at), known.content)).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});
