import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

interface Workload {
  spec: {
    replicas: number;
    template: { spec: { terminationGracePeriodSeconds: number; containers: [{ resources: object }] } };
  };
}

/** What the first object of a manifest says, which is the default. */
export const firstIn = (file: string): Workload =>
  parseAllDocuments(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))[0]!.toJS() as Workload;

export const flag = (is: boolean, what: string) => z.boolean().default(is).describe(what);
export const text = (value: string, what: string) => z.string().default(value).describe(what);
/** Parts of Kubernetes' own objects: the API server checks what they hold. */
export const kubernetes = (what: string) => z.record(z.string(), z.unknown()).default({}).describe(what);
export const kubernetesList = (what: string) => z.array(z.record(z.string(), z.unknown())).default([]).describe(what);
export const resources = (of: { resources: object }, what: string) => kubernetes(what).default({ ...of.resources });
