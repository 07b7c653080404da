import type { Stored } from '../../api/objects.ts';
import { featuresOf } from './features.ts';
import type { History } from './histories.ts';
import { shownBy } from './stored-objects.ts';

interface Candidate<T> {
  what: T;
  /** Of its JSON: longer histories take longer to replay. */
  size: number;
  features: ReadonlySet<string>;
}

/** How much JSON is kept only for the sake of commands that are given together. */
const TASKS_WITHIN = 3_000_000;

/** Chooses the histories to keep: few and short ones that show all that the others show. */
export function choose(all: readonly History[]): History[] {
  const known = all.map((what) => ({ what, size: JSON.stringify(what).length, ...featuresOf(what) }));
  const chosen = cover(known.map(({ events, ...one }) => ({ ...one, features: events })));
  const rest = known.filter(({ what }) => !chosen.includes(what));
  const shown = new Set(chosen.flatMap((history) => [...featuresOf(history).tasks]));
  const candidates = rest.map(({ tasks, ...one }) => ({ ...one, features: tasks }));
  return [...chosen, ...cover(candidates, shown, TASKS_WITHIN)];
}

/** Chooses the objects to keep in the same way. */
export const chooseObjects = (all: readonly Stored[]): Stored[] =>
  cover(all.map((what) => ({ what, size: JSON.stringify(what).length, features: shownBy(what) })));

/** Takes, again and again, the one that shows most for its size of what none has shown. */
function cover<T>(candidates: readonly Candidate<T>[], shown = new Set<string>(), within = Infinity): T[] {
  const chosen: T[] = [];
  const worth = ({ features, size }: Candidate<T>): number =>
    [...features].filter((one) => !shown.has(one)).length / (size + 2_000);
  let left = [...candidates];
  for (let taken = 0; ;) {
    left = left.filter((one) => worth(one) > 0 && taken + one.size <= within);
    const [best, ...others] = left.toSorted((a, b) => worth(b) - worth(a));
    if (best === undefined) return chosen;
    chosen.push(best.what);
    taken += best.size;
    for (const feature of best.features) shown.add(feature);
    left = others;
  }
}
