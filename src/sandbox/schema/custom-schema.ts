import type { KubeObject } from '../../resources/kube-object.ts';
import { isJsonObject, type JsonObject } from '../json-value.ts';
import type { FieldFault } from '../status-error.ts';
import { coerceEmbedded, embeddedFaults } from './embedded-resource.ts';
import { listFaults } from './list-faults.ts';
import { pruned, withDefaults, withoutRefusedNulls } from './shape-value.ts';
import { checkTyped } from './typed-apply.ts';
import { validateValue } from './validate-value.ts';

/** What one version of a CustomResourceDefinition says of its objects. */
export class CustomSchema {
  /** The `openAPIV3Schema`. */
  readonly schema: JsonObject;
  readonly #prunes: boolean;
  readonly #shaped = new WeakMap<KubeObject, KubeObject>();

  constructor(schema: JsonObject, options: { readonly preserveUnknownFields: boolean }) {
    this.schema = schema;
    this.#prunes = !options.preserveUnknownFields;
  }

  /** With its defaults and without unknown members, as objects are read from requests and from storage. */
  shape(object: KubeObject): KubeObject {
    const known = this.#shaped.get(object);
    if (known !== undefined) return known;
    const { apiVersion, kind, metadata, ...rest } = object;
    let content = withDefaults(rest, this.schema);
    if (this.#prunes) content = withoutRefusedNulls(pruned(content, this.schema), this.schema);
    content = coerceEmbedded(content, this.schema);
    const changed = content === rest ? undefined : (content as JsonObject);
    const shaped: KubeObject = changed === undefined ? object : { ...changed, apiVersion, kind, metadata };
    this.#shaped.set(object, shaped);
    this.#shaped.set(shaped, shaped);
    return shaped;
  }

  withDefaults(object: KubeObject): KubeObject {
    const { apiVersion, kind, metadata, ...rest } = object;
    const content = withDefaults(rest, this.schema);
    return content === rest ? object : { ...(content as JsonObject), apiVersion, kind, metadata };
  }

  /** @throws StatusError 500 for an applied configuration that does not fit field by field */
  checkTyped(config: KubeObject): void {
    checkTyped(this.schema, config);
  }

  /** @param live of an update: lists that were wrong before may stay so */
  faults(object: KubeObject, live: KubeObject | undefined): readonly FieldFault[] {
    const lenient = live !== undefined && listFaults(live, this.schema).length > 0;
    return [
      ...this.statusFaults(object),
      ...embeddedFaults(object, this.schema),
      ...(lenient ? [] : listFaults(object, this.schema)),
    ];
  }

  /** A write of status is held to the whole schema, but not to the rules for lists and embedded resources. */
  statusFaults(object: KubeObject): readonly FieldFault[] {
    return validateValue(this.schema, object).errors.map(({ fault }) => fault);
  }
}

const compiled = new WeakMap<JsonObject, CustomSchema>();

/** One a definition's version, however often the definition is written. */
export function customSchema(
  openAPIV3Schema: unknown,
  options: { readonly preserveUnknownFields: boolean },
): CustomSchema | undefined {
  if (!isJsonObject(openAPIV3Schema)) return undefined;
  let schema = compiled.get(openAPIV3Schema);
  if (schema === undefined) {
    schema = new CustomSchema(openAPIV3Schema, options);
    compiled.set(openAPIV3Schema, schema);
  }
  return schema;
}
