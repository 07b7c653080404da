import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { droverCrds } from '../../api/crd/crds.ts';
import type { StructuralSchema } from '../../api/crd/structural-schema.ts';
import { CRD_FOLDER, crdFiles } from '../../deploy/generate-crds.ts';

const schemaOf = (): StructuralSchema => droverCrds()[0]!.spec.versions[0]!.schema.openAPIV3Schema;

/** The schema at `path`, where `[]` stands for the items of an array. */
const at = (...path: string[]): StructuralSchema | undefined =>
  path.reduce<StructuralSchema | undefined>(
    (node, part) => (part === '[]' ? node?.items : node?.properties?.[part]),
    schemaOf(),
  );

describe("drover's CRDs", () => {
  it('are in deploy/crds as generated', () => {
    const kept = readdirSync(CRD_FOLDER).map(
      (name) => [name, readFileSync(new URL(name, CRD_FOLDER), 'utf8')] as const,
    );
    expect(new Map(kept)).toEqual(crdFiles());
  });

  it('name the generator in their files', () => {
    expect([...crdFiles().values()].map((text): unknown => parse(text))).toEqual(droverCrds());
  });

  it('count in the scale subresource as the API server counts', () => {
    expect(droverCrds()[0]!.spec.versions[0]!.subresources).toEqual({
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.labelSelector',
      },
    });
  });

  it('accept the VM, whatever is in it', () => {
    const open = 'x-kubernetes-preserve-unknown-fields';
    expect(at('spec', 'template', 'spec')).toMatchObject({ [open]: true, required: ['template'] });
    expect(at('spec', 'template', 'spec', 'template')).toMatchObject({ [open]: true });
    expect(at('spec', 'template')).not.toHaveProperty([open]);
  });

  it('have no keyword that a structural schema forbids', () => {
    const forbidden = new Set([
      '$ref',
      '$schema',
      '$defs',
      'anyOf',
      'oneOf',
      'allOf',
      'const',
      'not',
      'propertyNames',
      'patternProperties',
    ]);
    const wrong: string[] = [];
    const visit = (schema: StructuralSchema, path: string): void => {
      wrong.push(
        ...Object.keys(schema)
          .filter((key) => forbidden.has(key))
          .map((key) => `${path}: ${key}`),
      );
      if (schema.properties !== undefined && schema.additionalProperties !== undefined)
        wrong.push(`${path}: additionalProperties`);
      for (const [key, property] of Object.entries(schema.properties ?? {})) visit(property, `${path}.${key}`);
      if (schema.items !== undefined) visit(schema.items, `${path}[]`);
      if (schema.additionalProperties !== undefined) visit(schema.additionalProperties, `${path}{}`);
    };
    visit(schemaOf(), '');
    expect(wrong).toEqual([]);
  });

  it('cost the same on any Kubernetes, though before 1.34 it ignores the maxLength of a number or text', () => {
    const schemas = (schema: StructuralSchema | undefined): StructuralSchema[] =>
      schema === undefined
        ? []
        : [
            schema,
            ...[...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties].flatMap(schemas),
          ];
    const either = schemas(schemaOf()).filter((schema) => schema['x-kubernetes-int-or-string'] === true);
    expect(either).toHaveLength(5);
    for (const schema of either) expect(schema).not.toHaveProperty('maxLength');
  });

  it('give the width of integers, and distinguish conditions by their type', () => {
    expect(at('status', 'observedGeneration')).toMatchObject({ type: 'integer', format: 'int64', minimum: 0 });
    expect(at('spec', 'replicas')).toMatchObject({ type: 'integer', format: 'int32', minimum: 0, maximum: 99_999 });
    expect(at('status', 'conditions')).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    });
  });
});
