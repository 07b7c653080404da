import { mkdirSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { droverCrds } from '../api/crd/crds.ts';

const HEADER = '# Generated from the schemas in api/ by deploy/generate-crds.ts.';

/** The CRDs as files for `kubectl apply -f deploy/crds`, by file name. `node deploy/generate-crds.ts` writes them. */
export const crdFiles = (): Map<string, string> =>
  new Map(
    droverCrds().map((crd) => [
      `${crd.metadata.name}.yaml`,
      `${HEADER}\n${stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false })}`,
    ]),
  );

export const CRD_FOLDER = new URL('./crds/', import.meta.url);

if (import.meta.main) {
  mkdirSync(CRD_FOLDER, { recursive: true });
  for (const [name, text] of crdFiles()) writeFileSync(new URL(name, CRD_FOLDER), text);
}
