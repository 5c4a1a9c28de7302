// A shop's orders by franz-go and its sr package. ../README.md says what every client does and prints.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

const deadline = 60 * time.Second

type order struct {
	ID   int64  `avro:"id" json:"id"`
	Item string `avro:"item" json:"item"`
}

type notedOrder struct {
	ID   int64  `avro:"id" json:"id"`
	Item string `avro:"item" json:"item"`
	Note string `avro:"note" json:"note"`
}

type basket struct {
	Customer string  `avro:"customer" json:"customer"`
	Orders   []order `avro:"orders" json:"orders"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, bootstrap, topic, schemas string) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	client, err := sr.NewClient(sr.URLs(url))
	if err != nil {
		return err
	}
	shop := &shop{client: client, schemas: schemas, serde: sr.NewSerde()}
	baskets := topic + "-baskets"

	first, err := shop.register(ctx, topic, "order-1.avsc", order{}, nil)
	if err != nil {
		return err
	}
	second, err := shop.register(ctx, topic, "order-2.avsc", notedOrder{}, nil)
	if err != nil {
		return err
	}
	refused := 200
	var answered *sr.ResponseError
	if _, err := shop.register(ctx, topic, "order-refused.avsc", nil, nil); errors.As(err, &answered) {
		refused = answered.StatusCode
	}
	references := []sr.SchemaReference{{Name: "shop.Order", Subject: topic + "-value", Version: 1}}
	if _, err := shop.register(ctx, baskets, "basket.avsc", basket{}, references); err != nil {
		return err
	}

	kafka, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(topic, baskets),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer kafka.Close()
	var records []*kgo.Record
	for _, one := range []struct {
		topic string
		value any
	}{
		{topic, order{1, "go"}},
		{topic, notedOrder{2, "go", "gift"}},
		{baskets, basket{"Ann", []order{{3, "go"}}}},
	} {
		value, err := shop.serde.Encode(one.value)
		if err != nil {
			return err
		}
		records = append(records, &kgo.Record{Topic: one.topic, Key: []byte("go"), Value: value})
	}
	if err := kafka.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	found, err := shop.everything(ctx, kafka, 4)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ids": []int{first, second}, "refused": refused, "orders": found[topic], "baskets": found[baskets],
	})
}

type shop struct {
	client  *sr.Client
	schemas string
	serde   *sr.Serde
}

// register makes a schema known to the registry, and to the serde as what a type is written and read with.
func (s *shop) register(
	ctx context.Context, topic, file string, value any, references []sr.SchemaReference,
) (int, error) {
	text, err := os.ReadFile(filepath.Join(s.schemas, file))
	if err != nil {
		return 0, err
	}
	wanted := sr.Schema{Schema: string(text), Type: sr.TypeAvro, References: references}
	made, err := s.client.CreateSchema(ctx, topic+"-value", wanted)
	if err != nil {
		return 0, err
	}
	return made.ID, s.teach(ctx, made.ID, value)
}

// teach tells the serde how an id is written and read, by the schema that the registry has under it.
func (s *shop) teach(ctx context.Context, id int, value any) error {
	schema, err := s.parsed(ctx, id)
	if err != nil {
		return err
	}
	s.serde.Register(
		id, value,
		sr.EncodeFn(func(v any) ([]byte, error) { return avro.Marshal(schema, v) }),
		sr.DecodeFn(func(b []byte, v any) error { return avro.Unmarshal(schema, b, v) }),
	)
	return nil
}

// parsed is an id's schema, after the schemas that it refers to.
func (s *shop) parsed(ctx context.Context, id int) (avro.Schema, error) {
	found, err := s.client.SchemaByID(ctx, id)
	if err != nil {
		return nil, err
	}
	known := &avro.SchemaCache{}
	for _, reference := range found.References {
		needed, err := s.client.SchemaByVersion(ctx, reference.Subject, reference.Version)
		if err != nil {
			return nil, err
		}
		if _, err := avro.ParseWithCache(needed.Schema.Schema, "", known); err != nil {
			return nil, err
		}
	}
	return avro.ParseWithCache(found.Schema, "", known)
}

// everything is so many records of all topics from their beginning, by topic, through the serde.
func (s *shop) everything(ctx context.Context, kafka *kgo.Client, count int) (map[string][]any, error) {
	found := map[string][]any{}
	for count > 0 {
		fetches := kafka.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			value, err := s.serde.DecodeNew(record.Value)
			if err != nil {
				return nil, err
			}
			found[record.Topic] = append(found[record.Topic], value)
			count--
		}
	}
	return found, nil
}
