import { featuresOf } from './features.ts';
import type { History } from './histories.ts';

interface Candidate {
  history: History;
  /** Of its JSON: longer histories take longer to replay. */
  size: number;
  features: ReadonlySet<string>;
}

/** How much JSON is kept only for the sake of commands that are given together. */
const TASKS_WITHIN = 3_000_000;

/** Chooses the histories to keep: few and short ones that show all that the others show. */
export function choose(all: readonly History[]): History[] {
  const known = all.map((history) => ({
    history,
    size: JSON.stringify(history).length,
    ...featuresOf(history),
  }));
  const chosen = cover(known.map(({ events, ...one }) => ({ ...one, features: events })));
  const rest = known.filter(({ history }) => !chosen.includes(history));
  const shown = new Set(chosen.flatMap((history) => [...featuresOf(history).tasks]));
  const candidates = rest.map(({ tasks, ...one }) => ({ ...one, features: tasks }));
  return [...chosen, ...cover(candidates, shown, TASKS_WITHIN)];
}

/** Takes, again and again, the history that shows most for its size of what none has shown. */
function cover(candidates: readonly Candidate[], shown = new Set<string>(), within = Infinity): History[] {
  const chosen: History[] = [];
  const worth = ({ features, size }: Candidate): number =>
    [...features].filter((one) => !shown.has(one)).length / (size + 2_000);
  let left = [...candidates];
  for (let taken = 0; ;) {
    left = left.filter((one) => worth(one) > 0 && taken + one.size <= within);
    const [best, ...others] = left.toSorted((a, b) => worth(b) - worth(a));
    if (best === undefined) return chosen;
    chosen.push(best.history);
    taken += best.size;
    for (const feature of best.features) shown.add(feature);
    left = others;
  }
}
