import { givenCluster, type Need } from './given.ts';
import { skip } from './skip.ts';

/** Skips the current test if the given cluster lacks this. */
export function needs(need: Need): void {
  if (givenCluster()?.lacks.includes(need) === true) skip(lackOf(need));
}

export const lackOf = (need: Need): string => `it needs ${need}, which the cluster has not`;
