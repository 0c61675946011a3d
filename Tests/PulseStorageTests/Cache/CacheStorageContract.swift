// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import Testing

/// The contract of every cache store: each store runs this list, with a limit of a million bytes and 100 entries.
enum CacheStorageContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case returnsWhatWasStored
    case findsNothingUnderAnotherKey
    case replacesTheResponseWithTheSameSelectingFields
    case storesVariantsBesideEachOther
    case storesAtMostEightVariantsOfAKey
    case writesABodyInChunks
    case findsNothingBeforeACommit
    case findsNothingAfterADiscard
    case storesNothingLargerThanAQuarterOfTheBytes
    case variantsOfAKeyShareAQuarterOfTheBytes
    case aResponseTooLargeRemovesTheOneItWouldReplace
    case storesANewHeadForABodyOfTheStore
    case aBodyStaysReadableAfterItsEntryIsReplaced
    case evictsTheLeastRecentlyUsedAboveTheEntryLimit
    case evictsTheLeastRecentlyUsedAboveTheByteLimit
    case removesAURLInAllPartitions
    case removesAPrefix
    case removesATag
    case removesAPartition
    case removesEverything
    case storesQueriesByTheirBody
    case storesRepeatedHeadersInOrder
    case storesAnEmptyBody
    case storesThePartsOfABody
    case storesHostileText
    case countsEntriesAndBytes

    var testDescription: String { rawValue }

    static let maxBytes = 1_000_000
    static let maxEntries = 100

    func check(_ store: any CacheStorage) async throws {
        switch self {
        case .returnsWhatWasStored, .findsNothingUnderAnotherKey, .replacesTheResponseWithTheSameSelectingFields,
            .storesVariantsBesideEachOther, .storesAtMostEightVariantsOfAKey:
            try await checkLookup(store)
        case .writesABodyInChunks, .findsNothingBeforeACommit, .findsNothingAfterADiscard,
            .storesNothingLargerThanAQuarterOfTheBytes, .aResponseTooLargeRemovesTheOneItWouldReplace,
            .variantsOfAKeyShareAQuarterOfTheBytes,
            .storesANewHeadForABodyOfTheStore, .aBodyStaysReadableAfterItsEntryIsReplaced:
            try await checkBodies(store)
        case .evictsTheLeastRecentlyUsedAboveTheEntryLimit, .evictsTheLeastRecentlyUsedAboveTheByteLimit,
            .removesAURLInAllPartitions,
            .removesAPrefix, .removesATag, .removesAPartition, .removesEverything, .countsEntriesAndBytes:
            try await checkEviction(store)
        case .storesQueriesByTheirBody, .storesRepeatedHeadersInOrder, .storesAnEmptyBody, .storesHostileText,
            .storesThePartsOfABody:
            try await checkContents(store)
        }
    }
}

extension CacheKey {
    static func test(_ path: String, partition: String = "", digest: String? = nil) -> CacheKey {
        CacheKey(partition: partition, url: "https://api.example.com" + path, bodyDigest: digest)
    }
}

extension CachedResponse.Head {
    static func test(
        _ headers: HTTPHeaders = ["Content-Type": "text/plain"], language: String? = nil, tags: Set<String> = []
    ) -> CachedResponse.Head {
        CachedResponse.Head(
            statusCode: 200, headers: headers, requestTime: Date(timeIntervalSince1970: 1_767_225_600.25),
            responseTime: Date(timeIntervalSince1970: 1_767_225_601.5),
            selectingFields: [.init(name: "accept-language", value: language)], tags: tags)
    }
}

extension CacheStorage {
    @discardableResult
    func put(_ text: String, _ key: CacheKey, _ head: CachedResponse.Head = .test()) async throws -> Bool {
        try await store(CachedResponse(head: head, body: CachedResponse.Body(Data(text.utf8))), for: key)
    }

    /// The bodies under a key.
    func texts(_ key: CacheKey) async throws -> [String] {
        var texts: [String] = []
        for response in await responses(for: key) {
            texts.append(String(decoding: try await response.body.data(), as: UTF8.self))
        }
        return texts.sorted()
    }
}
