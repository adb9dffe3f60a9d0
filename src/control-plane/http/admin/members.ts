import { Type } from 'typebox';
import { addMember, changeMember, removeMember, requireMember } from '../../members/change-members.ts';
import { listMembers } from '../../store/members.ts';
import type { MemberRow } from '../../store/people-rows.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';
import { NotModified, requireMatch, sendTagged } from './entity-tag.ts';
import {
  CreateMember,
  editableOf,
  MemberAnswer,
  MemberPageAnswer,
  PatchMember,
  PersonName,
  viewMember,
} from './member-schemas.ts';
import { answerPage, PageQuery, readPage } from './page.ts';

const MemberParams = Type.Object({ member: PersonName });

const list = {
  tags: ['members'],
  operationId: 'listMembers',
  summary: 'Members of the organization, by name',
  querystring: PageQuery,
  response: answers({ 200: MemberPageAnswer }),
};
const create = {
  tags: ['members'],
  operationId: 'addMember',
  summary: 'Lets somebody in, with what he or she may do',
  body: CreateMember,
  response: answers({ 201: MemberAnswer }),
};
const show = {
  tags: ['members'],
  operationId: 'getMember',
  summary: 'One member',
  params: MemberParams,
  response: answers({ 200: MemberAnswer, 304: NotModified }),
};
const patch = {
  tags: ['members'],
  operationId: 'updateMember',
  summary: 'Changes what is named of a member; null takes it away',
  params: MemberParams,
  body: PatchMember,
  response: answers({ 200: MemberAnswer }),
};
const remove = {
  tags: ['members'],
  operationId: 'removeMember',
  summary: 'Removes a member and his or her tokens at once',
  params: MemberParams,
  response: answers({ 204: NoAnswer }),
};

/** `GET`, `POST /members`; `GET`, `PATCH`, `DELETE /members/{name}`. */
export function memberRoutes(app: HttpServer, deps: AdminDeps): void {
  const { store, clock } = deps;
  const changes = { store, clock, issuer: deps.oidc?.config.issuer };
  const tagged = (row: MemberRow) => ({ editable: editableOf(row), answer: viewMember(row) });

  app.get('/members', { schema: list }, async (request, reply) => {
    const { organization } = adminOf(request);
    const page = readPage(request.query, 's');
    const after = page.after === undefined ? undefined : String(page.after[0]);
    return await reply.send(
      await answerPage(
        page,
        async (limit) => await listMembers(store.db, organization.id, { limit, after }),
        ({ name }) => [name],
        viewMember,
      ),
    );
  });

  app.post('/members', { schema: create }, async (request, reply) => {
    const row = await addMember(changes, adminOf(request), request.body);
    return await sendTagged(request, reply.code(201), tagged(row));
  });

  app.get('/members/:member', { schema: show }, async (request, reply) => {
    const row = await requireMember(store.db, adminOf(request).organization.id, request.params.member);
    return await sendTagged(request, reply, tagged(row));
  });

  app.patch('/members/:member', { schema: patch }, async (request, reply) => {
    const { member } = request.params;
    const row = await changeMember(changes, adminOf(request), member, request.body, (before) => {
      requireMatch(request, editableOf(before), `member ${member}`);
    });
    return await sendTagged(request, reply, tagged(row));
  });

  app.delete('/members/:member', { schema: remove }, async (request, reply) => {
    const { member } = request.params;
    await removeMember(changes, adminOf(request), member, (before) => {
      requireMatch(request, editableOf(before), `member ${member}`);
    });
    return await reply.code(204).send();
  });
}
