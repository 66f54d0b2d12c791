import { Body, Button, Column, Head, Heading, Hr, Html, Link, Preview, Row, Section, Tailwind, Text } from '@react-email/components';

interface Talk {
  hour: string;
  title: string;
}

const greeting = "Hello {{ firstName | upcase | default: 'READER' }}";

function Programme({ talks }: { talks: Talk[] }) {
  return (
    <Section>
      {talks.map(({ hour, title }) => (
        <Row key={hour}>
          <Column className="w-1/4"><Text>{hour}</Text></Column>
          <Column><Text>{title}</Text></Column>
        </Row>
      ))}
    </Section>
  );
}

export default function Letter({ issue, talks }: { issue: number; talks: Talk[] }) {
  return (
    <Html lang="en" dir="ltr">
      <Tailwind>
        <Head><title>{`Conference letter ${issue}`}</title></Head>
        <Preview>Three talks, one evening</Preview>
        <Body className="bg-white font-sans">
          <Heading className="text-2xl sm:text-xl">{greeting}</Heading>
          <Text>{'Since {{ signedUp | date: "%B %Y" }} you have been with us.'}</Text>
          <Programme talks={talks} />
          <Button className="rounded bg-black px-6 py-4 text-white" href="https://example.com/tickets">Keep a seat</Button>
          <Hr />
          <Text>No more of this? <Link href="{{ unsubscribeUrl }}">Unsubscribe</Link></Text>
        </Body>
      </Tailwind>
    </Html>
  );
}

Letter.PreviewProps = {
  issue: 7,
  talks: [
    { hour: '18:00', title: 'Doors & soup' },
    { hour: '19:00', title: 'Lists that last' },
    { hour: '20:30', title: 'What a hard bounce says' },
  ],
};
