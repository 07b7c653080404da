import * as z from 'zod';

/** A JSON schema in a CustomResourceDefinition. */
export interface StructuralSchema {
  type?: string;
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  [keyword: string]: unknown;
}

/**
 * Converts a schema to the form that the API server accepts: without unions and references, and with objects left open,
 * because the server prunes unknown fields itself.
 */
export const structuralSchema = (schema: z.ZodType): StructuralSchema => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    override: ({ jsonSchema }) => adapt(jsonSchema),
  });
  return json as StructuralSchema;
};

function adapt(schema: Record<string, unknown>): void {
  delete schema['propertyNames'];
  if (schema['type'] === 'object') adaptObject(schema);
  if (schema['type'] === 'integer') adaptInteger(schema);
  if ('const' in schema) adaptConstant(schema);
  if ('not' in schema) admitAny(schema);
  if (schema['x-kubernetes-int-or-string'] === true) delete schema['anyOf'];
  // The message of the validation rule says more than the pattern that it checks.
  if ('x-kubernetes-validations' in schema) delete schema['pattern'];
}

function adaptConstant(schema: Record<string, unknown>): void {
  schema['enum'] = [schema['const']];
  delete schema['const'];
}

/** A schema that is never valid has no type, but a validation rule is evaluated only if there is one. */
function admitAny(schema: Record<string, unknown>): void {
  delete schema['not'];
  const anyObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  if (schema['type'] === 'array') schema['items'] = anyObject;
  else if (schema['type'] === 'object') Object.assign(schema, anyObject);
}

function adaptObject(schema: Record<string, unknown>): void {
  const rest = schema['additionalProperties'];
  if (rest === false) delete schema['additionalProperties'];
  if (rest !== undefined && rest !== false && isEmpty(rest)) {
    delete schema['additionalProperties'];
    schema['x-kubernetes-preserve-unknown-fields'] = true;
  }
  if (isEmpty(schema['properties'])) delete schema['properties'];
}

/** Kubernetes expresses the width of an integer by its format, not by its limits. */
function adaptInteger(schema: Record<string, unknown>): void {
  if ('format' in schema) return;
  schema['format'] = schema['maximum'] === Number.MAX_SAFE_INTEGER ? 'int64' : 'int32';
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER || schema['maximum'] === 2 ** 31 - 1) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER || schema['minimum'] === -(2 ** 31)) delete schema['minimum'];
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
