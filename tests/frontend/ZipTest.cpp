#include "TestFiles.h"
#include "ZipReader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::HasSubstr;

namespace {

ZipReader open(const std::string &bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return ZipReader({std::as_bytes(std::span(*owner)), owner}, "t.zip");
}

std::string textOf(const SharedBytes &content) {
  return {reinterpret_cast<const char *>(content.bytes.data()),
          content.bytes.size()};
}

template <typename Body>
std::string errorOf(Body &&body) {
  try {
    body();
  } catch (const ErrorException &e) {
    EXPECT_EQ(e.error.code, ErrorCode::InvalidArgument);
    return e.error.message;
  }
  return "";
}

std::string openError(const std::string &bytes) {
  return errorOf([&] { open(bytes); });
}

TEST(Zip, maps_stored_records) {
  std::string bytes =
      ZipBuilder().add("r/a", "alpha").add("r/b/c", "").finish();
  ZipReader zip = open(bytes);
  EXPECT_EQ(zip.records().size(), 2u);
  EXPECT_TRUE(zip.contains("r/a"));
  EXPECT_FALSE(zip.contains("r/b"));
  EXPECT_EQ(textOf(zip.read("r/a")), "alpha");
  EXPECT_EQ(zip.read("r/a").bytes.data(), zip.map("r/a").bytes.data());
  EXPECT_EQ(textOf(zip.read("r/b/c")), "");
  EXPECT_EQ(zip.rootFolder(), "r");
  EXPECT_THAT(errorOf([&] { zip.read("r/d"); }),
              HasSubstr("t.zip: record 'r/d' is missing"));
}

TEST(Zip, reads_64_bit_directories) {
  std::string bytes =
      ZipBuilder(/*is64=*/true).add("r/a", "alpha").add("r/b", "beta").finish();
  ZipReader zip = open(bytes);
  EXPECT_EQ(textOf(zip.read("r/a")), "alpha");
  EXPECT_EQ(textOf(zip.read("r/b")), "beta");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(openError(bytes.substr(0, length)), "") << length;

  // Extra data under another id.
  std::string other = bytes;
  size_t extra = other.find(std::string("\x01\0\x18\0", 4));
  ASSERT_NE(extra, other.npos);
  other[extra] = 2;
  EXPECT_EQ(openError(other), "t.zip: r/a: a 64-bit size is missing");
  other = bytes;
  other[extra + 2] = 0x19;
  EXPECT_EQ(openError(other), "t.zip: r/a: its extra data is damaged");
  // A record that claims to end far beyond the archive.
  other = bytes;
  for (size_t i = 4; i < 20; ++i)
    other[extra + i] = '\x7f';
  EXPECT_EQ(openError(other), "t.zip: r/a: its data is not inside the archive");
}

TEST(Zip, rejects_end_records_that_disagree) {
  std::string bytes = ZipBuilder(/*is64=*/true).add("r/a", "alpha").finish();
  // The 32-bit number of records.
  bytes[bytes.size() - 22 + 10] = bytes[bytes.size() - 22 + 8] = 2;
  EXPECT_THAT(openError(bytes), HasSubstr("its two end records disagree"));

  bytes = ZipBuilder().add("r/a", "alpha").finish();
  bytes[bytes.size() - 22 + 4] = 1;
  EXPECT_THAT(openError(bytes), HasSubstr("in several files"));
  bytes[bytes.size() - 22 + 4] = 0;
  bytes[bytes.size() - 22 + 16] += 1;
  EXPECT_THAT(openError(bytes), HasSubstr("not where the end record says"));
}

TEST(Zip, inflates_compressed_records) {
  std::string content(100000, 'x');
  ZipBuilder::Record record = ZipBuilder::deflated("r/a", content);
  EXPECT_EQ(textOf(open(ZipBuilder().add(record).finish()).read("r/a")),
            content);

  record.numBytes -= 1;
  ZipReader tooLong = open(ZipBuilder().add(record).finish());
  EXPECT_THAT(errorOf([&] { tooLong.read("r/a"); }), HasSubstr("damaged"));
  record.numBytes += 2;
  ZipReader tooShort = open(ZipBuilder().add(record).finish());
  EXPECT_THAT(errorOf([&] { tooShort.read("r/a"); }), HasSubstr("damaged"));
  record.numBytes = 4'000'000'000;
  EXPECT_THAT(openError(ZipBuilder().add(record).finish()),
              HasSubstr("expands too much"));
}

TEST(Zip, verifies_checksums_only_when_reading) {
  ZipBuilder::Record record{"r/a", "alpha"};
  record.crc = 1;
  ZipReader zip = open(ZipBuilder().add(record).finish());
  EXPECT_EQ(textOf(zip.map("r/a")), "alpha");
  EXPECT_EQ(errorOf([&] { zip.read("r/a"); }),
            "t.zip: r/a: its checksum is wrong");
}

TEST(Zip, rejects_names_that_are_no_plain_paths) {
  for (const char *name : {"/a", "../a", "a/../b", "a//b", "./a", "a\\b", ".."})
    EXPECT_THAT(openError(ZipBuilder().add(name, "").finish()),
                HasSubstr("the name of record 0"))
        << name;
  EXPECT_THAT(openError(ZipBuilder().add(std::string("a\0b", 3), "").finish()),
              HasSubstr("has a NUL"));
  EXPECT_THAT(openError(ZipBuilder().add(std::string(5000, 'a'), "").finish()),
              HasSubstr("too long"));
  EXPECT_EQ(openError(ZipBuilder().add("folder/", "").finish()), "");
}

TEST(Zip, rejects_duplicates_and_overlaps) {
  EXPECT_EQ(openError(ZipBuilder().add("r/a", "1").add("r/a", "2").finish()),
            "t.zip: r/a: two records of this name");
  // Two entries of the directory over one local header.
  ZipBuilder::Record shared{"r/b", "x"};
  shared.offset = 0;
  EXPECT_THAT(openError(ZipBuilder().add("r/a", "x").add(shared).finish()),
              HasSubstr("r/b: its local header has another name"));
  // A whole record inside the data of another.
  std::string inner = ZipBuilder().add("r/b", "x").finish();
  shared.offset = 30 + 3;
  EXPECT_EQ(openError(ZipBuilder().add("r/a", inner).add(shared).finish()),
            "t.zip: r/b: overlaps record 'r/a'");
}

TEST(Zip, rejects_wrong_headers) {
  EXPECT_THAT(openError(ZipBuilder().add({"r/a", "x", 0, 0, "r/z"}).finish()),
              HasSubstr("another name"));
  EXPECT_THAT(openError(ZipBuilder().add({"r/a", "x", 0, 1}).finish()),
              HasSubstr("encrypted"));
  EXPECT_THAT(openError(ZipBuilder().add({"r/a", "x", 12}).finish()),
              HasSubstr("compression method 12"));
  EXPECT_THAT(openError(ZipBuilder().add({"r/a", "x", 0, 0, {}, 7}).finish()),
              HasSubstr("two different sizes"));
}

TEST(Zip, rejects_data_around_the_archive) {
  std::string bytes = ZipBuilder().add("r/a", "alpha").finish();
  EXPECT_EQ(openError(bytes), "");
  EXPECT_NE(openError("junk" + bytes), "");
  EXPECT_THAT(openError(bytes + "junk"), HasSubstr("after the end"));
  EXPECT_THAT(openError(ZipBuilder().add("r/a", "").finish("a comment")),
              HasSubstr("after the end"));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(openError(bytes.substr(0, length)), "") << length;
}

TEST(Zip, wants_one_root_folder) {
  ZipReader zip = open(ZipBuilder().add("r/a", "").add("s/b", "").finish());
  EXPECT_THAT(errorOf([&] { zip.rootFolder(); }),
              HasSubstr("s/b: not in the folder 'r'"));
  ZipReader empty = open(ZipBuilder().finish());
  EXPECT_THAT(errorOf([&] { empty.rootFolder(); }), HasSubstr("is empty"));
}

} // namespace
